import { RedemptionView } from '@waymark/contracts/http/coupon-views'
import { pick } from '@waymark/contracts/http/pick'
import { listRedemptions, rollBackRedemption as rollBackOperation } from '@waymark/contracts/http/redemptions'
import type { Prisma } from '@waymark/database'
import type { Route } from '@waymark/service-kit'
import { pageOf } from '../http/page.ts'
import { requireFound, requireId, unprocessable } from '../http/validation.ts'
import type { ManagementDeps } from '../management-deps.ts'
import { readCodes } from './coupon-list-queries.ts'
import { rollBackPart, rollBackRedemption } from './rollback-queries.ts'

/** A project's redemptions and their rollback. */
export const redemptionRoutes = ({ projectRoute, db, clock }: ManagementDeps): Route[] => {
  /** Redemptions with the codes of their coupons. */
  const viewAll = async (redemptions: readonly Redemption[]) => {
    const couponIds = redemptions.map(({ couponId }) => couponId)
    const codes = await readCodes(db.pool, couponIds)
    return redemptions.map((redemption) => viewRedemption(redemption, codes.get(redemption.couponId) ?? null))
  }

  return [
    projectRoute(listRedemptions, async ({ projectId, query }) => {
      const { poolId, couponId, orderId } = query
      const filters = {
        ...(poolId !== undefined && { poolId }),
        ...(couponId !== undefined && { couponId }),
        ...(orderId !== undefined && { orderId }),
      }
      return {
        body: await pageOf(
          query,
          async (page) => viewAll(await db.prisma.couponRedemption.findMany(page({ projectId, ...filters }))),
          (view) => view,
        ),
      }
    }),
    projectRoute(
      rollBackOperation,
      async ({ projectId, id, body: { reason = null, amount, items, points = false } }) => {
        if (amount !== undefined && items !== undefined)
          throw unprocessable('items', 'exclusive', 'cannot be combined with amount')
        const where = { id: requireId(id), projectId }
        if (points && (amount !== undefined || items !== undefined))
          throw unprocessable('points', 'exclusive', 'cannot be combined with amount and items')
        const { orderId } = requireFound(await db.prisma.couponRedemption.findFirst({ where }))
        if (points && orderId === null)
          throw unprocessable('points', 'order', 'cannot be reversed: the redemption has no order')
        const rollback = { projectId, id, reason, at: new Date(clock()) }
        if (amount !== undefined) await rollBackPart(db, rollback, { amount })
        else if (items !== undefined) await rollBackPart(db, rollback, { items })
        else await rollBackRedemption(db, rollback, points ? orderId : null)
        const redemption = requireFound(await db.prisma.couponRedemption.findFirst({ where }))
        const [shown] = await viewAll([redemption])
        return { body: requireFound(shown) }
      },
    ),
  ]
}

type Redemption = Prisma.CouponRedemptionGetPayload<object>

/** A redemption as it is shown, with the code of its coupon, null of an automatic promotion. Amounts are limited to what a JSON number holds exactly. */
export const viewRedemption = (redemption: Redemption, code: string | null) =>
  pick(
    {
      ...redemption,
      code,
      amount: numberOf(redemption.amount),
      discountAmount: numberOf(redemption.discountAmount),
      shippingDiscountAmount: numberOf(redemption.shippingDiscountAmount),
      rolledBackAmount: Number(redemption.rolledBackAmount),
    },
    RedemptionView,
  )

const numberOf = (amount: bigint | null): number | null => (amount === null ? null : Number(amount))

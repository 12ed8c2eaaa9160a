import { listRedemptions, rollBackRedemption as rollBackOperation } from '@waymark/contracts'
import type { Prisma } from '@waymark/database'
import { displayCode } from '@waymark/domain'
import type { Platform, Route } from '@waymark/service-kit'
import { pageOf } from '../http/page.ts'
import type { ProjectRouteFactory } from '../http/project-route.ts'
import { requireFound, requireId } from '../http/validation.ts'
import { rollBackRedemption } from './roll-back-redemption.ts'

/** What was redeemed in a project, and taking that back. */
export const redemptionRoutes = ({
  projectRoute,
  db,
  clock,
}: Pick<Platform, 'db' | 'clock'> & { projectRoute: ProjectRouteFactory }): Route[] => {
  /** The codes of coupons as they are shown, by coupon. */
  const codesOf = async (couponIds: readonly string[]): Promise<Map<string, string>> => {
    const coupons = await db.prisma.coupon.findMany({ where: { id: { in: [...couponIds] } } })
    const poolIds = [...new Set(coupons.map(({ poolId }) => poolId))]
    const pools = await db.prisma.couponPool.findMany({ where: { id: { in: poolIds } } })
    const prefixOf = new Map(pools.map(({ id, prefix }) => [id, prefix]))
    return new Map(
      coupons.map((coupon) => [coupon.id, displayCode(coupon, prefixOf.get(coupon.poolId) ?? '')]),
    )
  }

  return [
    projectRoute(listRedemptions, async ({ projectId, query }) => {
      const { poolId, couponId, orderId } = query
      const filters = {
        ...(poolId !== undefined && { poolId }),
        ...(couponId !== undefined && { couponId }),
        ...(orderId !== undefined && { orderId }),
      }
      const readViews = async (where: object, take: number) => {
        const redemptions = await db.prisma.couponRedemption.findMany({
          where: { projectId, ...filters, ...where },
          orderBy: { id: 'desc' },
          take,
        })
        const codes = await codesOf(redemptions.map(({ couponId }) => couponId))
        return redemptions.map((redemption) =>
          viewRedemption(redemption, codes.get(redemption.couponId) ?? ''),
        )
      }
      return { body: await pageOf(query, readViews, (view) => view) }
    }),
    projectRoute(rollBackOperation, async ({ projectId, id, body: { reason = null } }) => {
      const where = { id: requireId(id), projectId }
      requireFound(await db.prisma.couponRedemption.findFirst({ where }))
      await rollBackRedemption(db, { projectId, id, reason, at: new Date(clock()) })
      const redemption = requireFound(await db.prisma.couponRedemption.findFirst({ where }))
      const codes = await codesOf([redemption.couponId])
      return { body: viewRedemption(redemption, codes.get(redemption.couponId) ?? '') }
    }),
  ]
}

/** A redemption as it is shown. Amounts fit a JSON number: only such are taken. */
export const viewRedemption = (
  { projectId: _projectId, amount, ...redemption }: Prisma.CouponRedemptionGetPayload<object>,
  code: string,
) => ({ ...redemption, code, amount: amount === null ? null : Number(amount) })

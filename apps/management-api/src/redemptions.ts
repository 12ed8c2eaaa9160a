import { listRedemptions, rollBackRedemption as rollBackOperation } from '@waymark/contracts'
import { displayCode } from '@waymark/domain'
import type { Platform, Route } from '@waymark/service-kit'
import { pageOf } from './page.ts'
import type { ProjectRouteFactory } from './project-route.ts'
import { viewRedemption } from './redemption-view.ts'
import { rollBackRedemption } from './roll-back-redemption.ts'
import { requireFound, requireId } from './validation.ts'

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
      const { data, nextCursor } = await pageOf(
        query,
        (where, take) =>
          db.prisma.couponRedemption.findMany({
            where: { projectId, ...filters, ...where },
            orderBy: { id: 'desc' },
            take,
          }),
        (redemption) => redemption,
      )
      const codes = await codesOf(data.map((redemption) => redemption.couponId))
      const view = (redemption: (typeof data)[number]) =>
        viewRedemption(redemption, codes.get(redemption.couponId) ?? '')
      return { body: { data: data.map(view), nextCursor } }
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

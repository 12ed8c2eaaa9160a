import {
  getCoupon,
  listCoupons as listOperation,
  revokeCoupons as revokeOperation,
  updateCoupon,
} from '@waymark/contracts'
import type { Database } from '@waymark/database'
import { displayCode } from '@waymark/domain'
import type { Platform, Route } from '@waymark/service-kit'
import { listCoupons } from './list-coupons.ts'
import type { ProjectRouteFactory } from './project-route.ts'
import { viewRedemption } from './redemption-view.ts'
import { revokeCoupons } from './revoke-coupons.ts'
import { requireFound, requireId, unprocessable } from './validation.ts'

const HISTORY = 100

/** A project's coupons one by one: finding them, their history, revoking them. */
export const couponRoutes = ({
  projectRoute,
  db,
}: Pick<Platform, 'db'> & { projectRoute: ProjectRouteFactory }): Route[] => [
  projectRoute(listOperation, async ({ projectId, query }) => ({
    body: await listCoupons(db.pool, projectId, query),
  })),
  projectRoute(getCoupon, async ({ projectId, id }) => {
    const coupon = await findCoupon(db, projectId, id)
    const newest = { where: { couponId: id }, orderBy: { id: 'desc' }, take: HISTORY } as const
    const [redemptions, attempts] = await Promise.all([
      db.prisma.couponRedemption.findMany(newest),
      db.prisma.couponAttempt.findMany(newest),
    ])
    return {
      body: {
        ...coupon,
        redemptions: redemptions.map((redemption) => viewRedemption(redemption, coupon.code)),
        attempts: attempts.map(({ projectId: _projectId, couponId: _couponId, ...attempt }) => attempt),
      },
    }
  }),
  projectRoute(updateCoupon, async ({ projectId, id }) => {
    await findCoupon(db, projectId, id)
    await revokeCoupons(db, projectId, { ids: [id] })
    const coupon = await findCoupon(db, projectId, id)
    if (coupon.status !== 'revoked')
      throw unprocessable('status', 'redeemed', 'the coupon was redeemed already')
    return { body: coupon }
  }),
  projectRoute(revokeOperation, async ({ projectId, body }) => ({
    body: { revoked: await revokeCoupons(db, projectId, body) },
  })),
]

const findCoupon = async ({ prisma }: Database, projectId: string, id: string) => {
  const found = requireFound(await prisma.coupon.findFirst({ where: { id: requireId(id), projectId } }))
  const { prefix } = await prisma.couponPool.findUniqueOrThrow({ where: { id: found.poolId } })
  const { projectId: _projectId, display: _display, ...coupon } = found
  return { ...coupon, code: displayCode(found, prefix) }
}

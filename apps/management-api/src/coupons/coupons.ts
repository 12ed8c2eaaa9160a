import { AttemptView, CouponView } from '@waymark/contracts/http/coupon-views'
import {
  getCoupon,
  listCoupons as listOperation,
  revokeCoupons as revokeOperation,
  updateCoupon,
} from '@waymark/contracts/http/coupons'
import { pick } from '@waymark/contracts/http/pick'
import type { Prisma } from '@waymark/database'
import { displayCode } from '@waymark/domain/coupon'
import type { Route } from '@waymark/service-kit'
import { requireFound, requireId, unprocessable } from '../http/validation.ts'
import { lockRow } from '../lock-queries.ts'
import type { ManagementDeps } from '../management-deps.ts'
import { listCoupons, revokeCoupon, revokeCoupons } from './coupon-list-queries.ts'
import { viewRedemption } from './redemptions.ts'

const HISTORY = 100

/** A project's coupons, their history and their revocation. */
export const couponRoutes = ({ projectRoute, db, clock }: ManagementDeps): Route[] => [
  projectRoute(listOperation, async ({ projectId, query }) => ({
    body: await listCoupons(db.pool, projectId, query),
  })),
  projectRoute(getCoupon, async ({ projectId, id }) => ({
    body: await withHistory(db.prisma, await findCoupon(db.prisma, projectId, id, clock())),
  })),
  projectRoute(updateCoupon, async ({ projectId, id, requireMatch }) =>
    db.prisma.$transaction(async (tx) => {
      await lockRow(tx, 'coupon.coupons', id, 'NO KEY UPDATE')
      const found = await findCoupon(tx, projectId, id, clock())
      requireMatch(await withHistory(tx, found))
      if (found.status === 'redeemed')
        throw unprocessable('status', 'redeemed', 'cannot change: the coupon was already redeemed')
      if (found.status !== 'revoked') await revokeCoupon(tx, id)
      const body = await findCoupon(tx, projectId, id, clock())
      return { body, version: await withHistory(tx, body) }
    }),
  ),
  projectRoute(revokeOperation, async ({ projectId, body }) => ({
    body: { revoked: await revokeCoupons(db, projectId, body) },
  })),
]

type Tables = Pick<
  Prisma.TransactionClient,
  'coupon' | 'couponPool' | 'couponRedemption' | 'couponAttempt' | 'cardBalance'
>

/** A coupon of a project as it is shown at `now` (ms since the epoch). @throws AppError not_found */
export const findCoupon = async (
  { coupon: coupons, couponPool, cardBalance }: Omit<Tables, 'couponRedemption' | 'couponAttempt'>,
  projectId: string,
  id: string,
  now: number,
) => {
  const found = requireFound(await coupons.findFirst({ where: { id: requireId(id), projectId } }))
  const { prefix, cardCurrency } = await couponPool.findUniqueOrThrow({ where: { id: found.poolId } })
  const held = cardCurrency === null ? null : await cardBalance.findUnique({ where: { couponId: found.id } })
  const { heldUntil } = found
  const isHeld = heldUntil !== null && heldUntil.getTime() > now
  return {
    ...pick(
      {
        ...found,
        balance:
          cardCurrency === null ? null : { amount: Number(held?.balance ?? 0), currency: cardCurrency },
      },
      CouponView,
    ),
    heldUntil: isHeld ? heldUntil : null,
    code: displayCode(found, prefix),
  }
}

const withHistory = async (
  { couponRedemption, couponAttempt }: Tables,
  coupon: Awaited<ReturnType<typeof findCoupon>>,
) => {
  const newest = { where: { couponId: coupon.id }, orderBy: { id: 'desc' }, take: HISTORY } as const
  const redemptions = await couponRedemption.findMany(newest)
  const attempts = await couponAttempt.findMany(newest)
  return {
    ...coupon,
    redemptions: redemptions.map((redemption) => viewRedemption(redemption, coupon.code)),
    attempts: attempts.map((attempt) => pick(attempt, AttemptView)),
  }
}

import { refusalOf } from '@waymark/domain'
import type { Coupon } from './find-coupon.ts'

/** A coupon as shops see it: its status says what redeeming it at `now` (ms) would meet. */
export const lookupOf = (coupon: Coupon, now: number) => {
  const { code, pool, redeemedAt } = coupon
  const refusal = refusalOf(coupon, now)
  return {
    code,
    status: refusal === 'already_redeemed' ? 'redeemed' : (refusal ?? coupon.status),
    pool: { id: pool.id, name: pool.name, kind: pool.kind },
    discount: pool.discount,
    startsAt: pool.startsAt,
    expiresAt: pool.expiresAt,
    ...(redeemedAt && { redeemedAt }),
  }
}

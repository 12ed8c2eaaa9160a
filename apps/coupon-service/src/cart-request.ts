import type { Cart, Grant } from '@waymark/domain/coupon'
import type { WantedPoints } from './planned-points.ts'
import type { Coupon } from './redeemable-coupon-queries.ts'

/** A cart, the codes as they were entered, and the person by their ids, if known. `hold`: how long to hold it, in seconds. */
export type CartRequest = {
  codes: readonly string[]
  userId: string | null
  visitorId: string | null
  cart: Cart
  /** The points that the cart would spend. */
  points: WantedPoints | null
  hold: number | null
  /** The id of the hold, of the client's own, whose live hold it replaces. */
  holdId: string | null
}

/** A cart without the wish to hold it. */
export type CartContents = Omit<CartRequest, 'hold' | 'holdId'>

/**
 * A computed answer, and the coupons and promotions that apply together, with what each grants, or `payment`: what a gift card
 * pays, in minor units.
 */
export type Computed<A> = {
  answer: A
  chosen: readonly { coupon: Coupon; grant: Grant; payment?: number }[]
}

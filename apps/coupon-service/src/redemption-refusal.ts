import type { CartRefusal, CouponRefusal } from '@waymark/contracts/coupon'
import type { LoyaltyProgramme } from '@waymark/contracts/loyalty'
import type { ClientDevice } from '@waymark/contracts/records/ingest-record'
import type { Commit } from '@waymark/database'
import {
  cartRefusalMessage,
  exceedsBudget,
  needsCart,
  refusalMessage,
  refusalOf,
} from '@waymark/domain/coupon'
import type { ClientBase } from 'pg'
import type { Wanted } from './cart-outcome.ts'
import { type Answer, answer, provisional } from './idempotency-queries.ts'
import type { PlannedPoints } from './planned-points.ts'
import type { Held } from './redeem-hold.ts'
import { type Coupon, findAgain, type GiftCard } from './redeemable-coupon-queries.ts'
import { type Redeem, storeAttempt } from './redemption-queries.ts'
import type { RecordConfig } from './redemption-records.ts'

/** A request to redeem in its transaction. */
export type Attempt = {
  client: ClientBase
  /** The hold that is redeemed. */
  held: Held | undefined
  /** Undefined when the answer is stored in the same transaction. */
  commitEarly: Commit | undefined
  request: Redeem
  profileId: string | null
  at: Date
  device: ClientDevice
  config: RecordConfig
  hidesProfile: boolean
  projectId: string
  /** The loyalty programmes of the project, and the points that the request spends. */
  programmes: readonly LoyaltyProgramme[]
  planned: PlannedPoints | undefined
  /** The gift cards of the request, and what earlier redemptions of the order granted, in minor units. */
  cards: readonly GiftCard[]
  grantedBefore: number
}

/** A coupon in its current state. The hold that is redeemed does not keep it from being redeemed. */
export const readAgain = async (coupon: Coupon, { client, held, at }: Attempt): Promise<Coupon> => {
  const current = (await findAgain(client, coupon, at)) ?? coupon
  return held ? { ...current, heldUntil: null } : current
}

/** Reads a coupon again and answers why it cannot be redeemed. */
export const refuse = async (wanted: Wanted, attempt: Attempt): Promise<Answer> =>
  refuseBy({ ...wanted, coupon: await readAgain(wanted.coupon, attempt) }, attempt)

/** Answers why a coupon in its current state cannot be redeemed, and stores the attempt. */
export const refuseBy = async ({ coupon, outcome }: Wanted, attempt: Attempt): Promise<Answer> => {
  const { client, request, profileId, at } = attempt
  const { pool } = coupon
  const refusal = refusalOf(coupon, at.getTime())
  const lacksPerson = profileId === null && pool.perProfileLimit !== null
  if (!refusal && lacksPerson && coupon.assignedProfileId === null)
    return provisional(400, { error: 'This coupon is limited per person: userId or visitorId is required' })
  if (!refusal && outcome === undefined && needsCart(pool))
    return provisional(400, {
      error: 'This coupon has rules or a budget: items and currency are required, as for validate',
    })
  const cartRefusal = cartRefusalOf({ coupon, outcome })
  if (!refusal && cartRefusal === 'person_required')
    return provisional(400, { error: cartRefusalMessage[cartRefusal] })
  // Without a refusal the coupon is assigned to another person, or the person's limit is reached.
  const reason: CouponRefusal | CartRefusal = refusal ?? cartRefusal ?? 'already_redeemed'
  await storeAttempt(client, coupon, { ...request, reason, profileId, at })
  const named = coupon.code === null ? { promotionId: pool.id } : { code: coupon.code }
  const refused = { error: messageOf[reason], reason, ...(request.isList && named) }
  return MAY_CHANGE.has(reason) ? provisional(409, refused) : answer(409, refused)
}

/** Refusals that a repeat of the request need not get. */
const MAY_CHANGE: ReadonlySet<CouponRefusal | CartRefusal> = new Set(['pool_not_ready', 'held'] as const)

const messageOf = { ...refusalMessage, ...cartRefusalMessage }

/** Why a coupon does not apply to a cart, with the budget in its current state. */
const cartRefusalOf = ({ coupon: { pool }, outcome }: Wanted): CartRefusal | undefined => {
  if (!outcome) return undefined
  if ('refusal' in outcome) return outcome.refusal
  return exceedsBudget(pool, outcome.granted.discountAmount) ? 'budget_exhausted' : undefined
}

import { type Static, Type } from 'typebox'
import {
  type CouponRefusal,
  type CouponStatus,
  couponRefusals,
  couponStatuses,
  type PoolKind,
  type PoolStatus,
  poolKinds,
  poolStatuses,
} from '../coupon.ts'
import { CURRENCY_DESCRIPTION } from '../currency.ts'
import {
  Id,
  JsonObject,
  NullableString,
  NullableTimestamp,
  openObject,
  patternOf,
  Timestamp,
} from '../schema-parts.ts'

const oneOf = <T extends string>(values: readonly T[], description?: string) =>
  Type.Unsafe<T>({ type: 'string', enum: [...values], ...(description && { description }) })
const nullableInteger = (description: string) =>
  Type.Unsafe<number | null>({ type: ['integer', 'null'], description })

export const PoolKindSchema = oneOf<PoolKind>(poolKinds)
export const CouponStatusSchema = oneOf<CouponStatus>(couponStatuses)
export const CouponRefusalSchema = oneOf<CouponRefusal>(couponRefusals)

/** The discount of a coupon. Waymark stores it, and the shop applies it. */
export const Discount = Type.Object(
  {
    type: Type.String({
      ...patternOf(
        '^[A-Za-z][A-Za-z0-9_-]{0,49}$',
        '`percent`, `amount`, or another word of 1 to 50 letters, digits, `_` and `-` that begins with a letter',
      ),
      description:
        '`percent`, `amount`, or any word of yours. What it means beyond `value` and `currency` stands in `data`.',
    }),
    value: Type.Optional(
      Type.Number({
        minimum: 0,
        description:
          'Required for `percent`: at most 100. For every other type: an amount of money as an integer in minor ' +
          'units of `currency`, which is then required. Put other numbers into `data`.',
      }),
    ),
    currency: Type.Optional(Type.String({ format: 'currency', description: CURRENCY_DESCRIPTION })),
    data: Type.Optional(openObject('Anything else, up to 4 KiB, such as `{ "points": 500 }`.')),
  },
  { description: 'The discount of a coupon. The shop applies it.' },
)
export type Discount = Static<typeof Discount>

const LOOK_UP = [...couponStatuses, 'expired', 'pool_not_ready'] as const

/** A coupon for shops. `status` is the outcome that a redemption would have. */
export const CouponLookup = Type.Object({
  code: Type.String(),
  status: oneOf(LOOK_UP, '`available` and `assigned` can be redeemed, the latter by one person.'),
  pool: Type.Object({ id: Id, name: Type.String(), kind: PoolKindSchema }),
  discount: Discount,
  startsAt: NullableTimestamp,
  expiresAt: NullableTimestamp,
  redeemedAt: Type.Optional(Timestamp),
})

export const PoolView = Type.Object({
  id: Id,
  name: Type.String(),
  kind: PoolKindSchema,
  status: oneOf<PoolStatus>(
    poolStatuses,
    'Codes are generated in the background. The status is `generating` until all exist. A pool that gets more codes stays `ready`.',
  ),
  failure: NullableString,
  code: Type.Unsafe<string | null>({ type: ['string', 'null'], description: 'The code of a shared pool.' }),
  prefix: Type.String(),
  alphabet: Type.String(),
  length: Type.Integer({ description: 'Characters after the prefix, including the check character.' }),
  size: Type.Integer({ description: 'The requested number of codes.' }),
  generated: Type.Integer({
    description: 'The existing number of codes; `generated / size` is the progress.',
  }),
  redeemed: Type.Integer({ description: 'Redemptions that were not rolled back.' }),
  discount: Discount,
  startsAt: NullableTimestamp,
  expiresAt: NullableTimestamp,
  perProfileLimit: nullableInteger('Redemptions by one person.'),
  maxRedemptions: nullableInteger('Redemptions in all.'),
  archivedAt: NullableTimestamp,
  createdAt: Timestamp,
  updatedAt: Timestamp,
})

const couponFields = {
  id: Id,
  poolId: Id,
  code: Type.String(),
  status: CouponStatusSchema,
  assignedProfileId: NullableString,
  assignedAt: NullableTimestamp,
  redeemedAt: NullableTimestamp,
  revokedAt: NullableTimestamp,
  createdAt: Timestamp,
}
export const CouponView = Type.Object(couponFields)

export const RedemptionView = Type.Object({
  id: Id,
  couponId: Id,
  poolId: Id,
  code: Type.String(),
  profileId: NullableString,
  visitorId: NullableString,
  userId: NullableString,
  orderId: NullableString,
  amount: nullableInteger('In minor units of the currency.'),
  currency: NullableString,
  metadata: JsonObject,
  eventId: Type.String({ description: 'The id of its `coupon_redeemed` event.' }),
  redeemedAt: Timestamp,
  rolledBackAt: NullableTimestamp,
  rollbackReason: NullableString,
})
export type RedemptionView = Static<typeof RedemptionView>

/** A refused attempt. */
const AttemptView = Type.Object({
  id: Id,
  reason: CouponRefusalSchema,
  profileId: NullableString,
  visitorId: NullableString,
  userId: NullableString,
  orderId: NullableString,
  attemptedAt: Timestamp,
})

export const CouponHistory = Type.Object({
  ...couponFields,
  redemptions: Type.Array(RedemptionView, { description: 'The last 100, newest first.' }),
  attempts: Type.Array(AttemptView, { description: 'The last 100 refused attempts, newest first.' }),
})

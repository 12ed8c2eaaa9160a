import { type Static, Type } from 'typebox'
import {
  type CartRefusal,
  type CouponRefusal,
  type CouponStatus,
  cartRefusals,
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
  PRINTABLE,
  patternOf,
  Timestamp,
} from '../schema-parts.ts'

const oneOf = <T extends string>(values: readonly T[], description?: string) =>
  Type.Unsafe<T>({ type: 'string', enum: [...values], ...(description && { description }) })
const nullableInteger = (description: string) =>
  Type.Unsafe<number | null>({ type: ['integer', 'null'], description })

export const PoolKindSchema = oneOf<PoolKind>(
  poolKinds,
  '`automatic` pools have no codes: they are promotions that apply to every cart that meets their rules. The codes of ' +
    '`balance` pools are gift cards.',
)
export const CouponStatusSchema = oneOf<CouponStatus>(couponStatuses)
/** Why a coupon is not redeemed. */
export const RedeemRefusalSchema = oneOf<CouponRefusal | CartRefusal>([...couponRefusals, ...cartRefusals])

/** An amount in minor units. */
export const MinorUnits = (description: string) =>
  Type.Integer({ minimum: 0, maximum: Number.MAX_SAFE_INTEGER, description })

const MAX_GROUP_UNITS = 10_000
const Units = (description: string) =>
  Type.Optional(Type.Integer({ minimum: 1, maximum: MAX_GROUP_UNITS, description }))

/** The discount of a coupon. Waymark computes four types for a cart; the shop applies others. */
export const Discount = Type.Object(
  {
    type: Type.String({
      ...patternOf(
        '^[A-Za-z][A-Za-z0-9_-]{0,49}$',
        '`percent`, `amount`, `free_shipping`, `buy_x_get_y`, or another word of 1 to 50 letters, digits, `_` and `-` that begins with a letter',
      ),
      description:
        '`percent`, `amount`, `free_shipping`, `buy_x_get_y`, which are computed for a cart, or any word of yours. ' +
        'What it means beyond `value` and `currency` stands in `data`.',
    }),
    value: Type.Optional(
      Type.Number({
        minimum: 0,
        description:
          'Required for `percent`: at most 100. For every other type: an amount of money as an integer in minor ' +
          'units of `currency`, which is then required. Put other numbers into `data`.',
      }),
    ),
    currency: Type.Optional(
      Type.String({
        format: 'currency',
        description: `The currency of all amounts of the pool: it applies to carts in this currency only. ${CURRENCY_DESCRIPTION}`,
      }),
    ),
    maxAmount: Type.Optional(
      MinorUnits(
        'The largest discount of `percent` or `free_shipping` for a cart, in minor units of `currency`, which is then ' +
          'required.',
      ),
    ),
    buyQuantity: Units('Required for `buy_x_get_y`: the units that are paid for in each group.'),
    getQuantity: Units(
      'Required for `buy_x_get_y`: the units that are free in each group, the cheapest ones.',
    ),
    data: Type.Optional(openObject('Anything else, up to 4 KiB, such as `{ "points": 500 }`.')),
  },
  { description: 'The discount of a coupon. The shop applies it.' },
)
export type Discount = Static<typeof Discount>

/** Maximum names in one list of rules, and maximum size of rules as compact JSON, in bytes. */
export const MAX_RULE_NAMES = 500
export const MAX_RULES_BYTES = 32 * 1024

const Names = (description: string) =>
  Type.Optional(
    Type.Array(Type.String({ minLength: 1, maxLength: 200, ...PRINTABLE }), {
      minItems: 1,
      maxItems: MAX_RULE_NAMES,
      description,
    }),
  )

/** The rules that a cart must meet. */
export const CouponRules = Type.Object(
  {
    minimumAmount: Type.Optional(
      MinorUnits(
        'What the items that the coupon applies to must amount to at least, before discounts, in minor units of ' +
          'the currency of the discount or the budget, one of which is then required.',
      ),
    ),
    maximumAmount: Type.Optional(MinorUnits('The same, at most.')),
    includedSkus: Names(
      'The coupon applies only to items with one of these, or one of `includedCategories`. Default: to all.',
    ),
    excludedSkus: Names('The coupon never applies to items with one of these.'),
    includedCategories: Names('See `includedSkus`.'),
    excludedCategories: Names('The coupon never applies to items of these.'),
    firstOrderOnly: Type.Optional(
      Type.Boolean({
        description:
          'Only people without an order: no conversion with an amount above 0 is stored for them, other than of ' +
          '`coupon_redeemed`.',
      }),
    ),
    condition: Type.Optional(
      openObject(
        'JsonLogic over `traits` and segments, such as `{ "==": [{ "var": "traits.plan" }, "pro"] }` or ' +
          '`{ "segment": "regulars" }`.',
      ),
    ),
  },
  { description: 'What a cart must be like. Amounts are those of the items that remain after exclusion.' },
)
export type CouponRules = Static<typeof CouponRules>

/** An object or null. */
export const nullable = <T>(schema: { type: 'object' }) =>
  Type.Unsafe<T | null>({ ...schema, type: ['object', 'null'] })

/** What the discounts of a pool may amount to in all. */
export const Budget = Type.Object(
  {
    amount: MinorUnits('In minor units.'),
    currency: Type.String({ format: 'currency', description: CURRENCY_DESCRIPTION }),
  },
  { description: 'What all discounts of the pool may amount to. It is never exceeded.' },
)
export type Budget = Static<typeof Budget>

const LOOK_UP = [...couponStatuses, 'expired', 'pool_not_ready', 'held'] as const

/** An amount of money. */
export const Money = Type.Object({
  amount: Type.Integer({ description: 'In minor units.' }),
  currency: Type.String(),
})

/** A coupon for shops. `status` is the outcome that a redemption would have. */
export const CouponLookup = Type.Object({
  code: Type.String(),
  status: oneOf(LOOK_UP, '`available` and `assigned` can be redeemed, the latter by one person.'),
  pool: Type.Object({ id: Id, name: Type.String(), kind: PoolKindSchema }),
  discount: Discount,
  startsAt: NullableTimestamp,
  expiresAt: NullableTimestamp,
  redeemedAt: Type.Optional(Timestamp),
  balance: Type.Optional(
    Type.Object(Money.properties, { description: 'What a gift card holds. Only for `sec` keys.' }),
  ),
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
  rules: nullable<CouponRules>(CouponRules),
  stackable: Type.Boolean({ description: 'Whether it combines with other stackable coupons in a cart.' }),
  priority: Type.Integer({ description: 'Of several for a cart, the higher one applies first.' }),
  budgetAmount: nullable<Budget>(Budget),
  budgetUsedAmount: Type.Integer({
    description:
      'What was granted since there is a budget, without what was rolled back, in its minor units.',
  }),
  held: Type.Integer({ description: 'Redemptions that carts reserve by live holds.' }),
  budgetHeldAmount: Type.Integer({
    description: 'What live holds reserve of the budget, in its minor units.',
  }),
  amount: nullableInteger(
    'What each new gift card of a `balance` pool holds, in minor units; null for other kinds.',
  ),
  currency: NullableString,
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
  heldUntil: Type.Unsafe<Date | null>({
    type: ['string', 'null'],
    format: 'date-time',
    description: 'Until when a cart holds the code; null when none does.',
  }),
  balance: Type.Unsafe<Static<typeof Money> | null>({
    ...Money,
    type: ['object', 'null'],
    description: 'What a gift card holds; null for other coupons.',
  }),
  createdAt: Timestamp,
}
export const CouponView = Type.Object(couponFields)

/** An item of a redeemed cart. */
const GrantedItem = Type.Object({
  sku: Type.String(),
  category: Type.Optional(Type.String()),
  quantity: Type.Integer(),
  unitAmount: Type.Integer(),
  discountAmount: Type.Integer({ description: 'Of all units of the line.' }),
})
export type GrantedItem = Static<typeof GrantedItem>

export const RedemptionView = Type.Object({
  id: Id,
  couponId: Id,
  poolId: Id,
  code: Type.Unsafe<string | null>({
    type: ['string', 'null'],
    description: 'Null for an automatic promotion, whose `couponId` is the id of the pool.',
  }),
  profileId: NullableString,
  visitorId: NullableString,
  userId: NullableString,
  orderId: NullableString,
  amount: nullableInteger('In minor units of the currency.'),
  currency: NullableString,
  discountAmount: nullableInteger(
    'What was granted, in minor units; null when it was redeemed without items.',
  ),
  shippingDiscountAmount: nullableInteger('The part of it for the shipping.'),
  items: Type.Unsafe<GrantedItem[] | null>({
    type: ['array', 'null'],
    items: GrantedItem,
    description: 'The items of the cart with their discounts; null without items, and after an erasure.',
  }),
  rolledBackAmount: Type.Integer({ description: 'The part of the discount that was rolled back.' }),
  metadata: JsonObject,
  eventId: Type.String({ description: 'The id of its `coupon_redeemed` event.' }),
  redeemedAt: Timestamp,
  rolledBackAt: NullableTimestamp,
  rollbackReason: NullableString,
})
export type RedemptionView = Static<typeof RedemptionView>

/** A refused attempt. */
export const AttemptView = Type.Object({
  id: Id,
  reason: RedeemRefusalSchema,
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

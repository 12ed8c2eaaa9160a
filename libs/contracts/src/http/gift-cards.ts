import { type Static, Type } from 'typebox'
import { type CardMovementKind, cardMovementKinds, MAX_CARD_BALANCE } from '../coupon.ts'
import { Id, NullableString, PRINTABLE, Timestamp } from '../schema-parts.ts'
import { CartCode } from './cart.ts'
import { CouponView } from './coupon-views.ts'
import { ErrorBody } from './error-bodies.ts'
import { defineOperation } from './operation.ts'
import { equalTo, pageOf, pageParameters } from './page.ts'

const MovementKind = Type.Unsafe<CardMovementKind>({
  type: 'string',
  enum: [...cardMovementKinds],
  description:
    '`issued`: with new codes; `spent`: for an order; `refunded`: of an order; `expired`: what was left at the end of the pool.',
})

/** A movement as one of its cards, or a pool, sees it. */
export const CardMovementView = Type.Object({
  id: Id,
  kind: MovementKind,
  poolId: Id,
  couponId: Type.Unsafe<string | null>({
    type: ['string', 'null'],
    description:
      'The card; null for cards that are issued or expire together, unless `couponId` is asked for.',
  }),
  amount: Type.Integer({
    description: 'What was moved, in minor units: below 0 if it left cards.',
  }),
  currency: Type.String(),
  cards: Type.Integer({ description: 'How many cards it moved.' }),
  orderId: NullableString,
  profileId: NullableString,
  visitorId: NullableString,
  userId: NullableString,
  reason: NullableString,
  createdAt: Timestamp,
})
export type CardMovementView = Static<typeof CardMovementView>

const Amount = (description: string) => Type.Integer({ minimum: 1, maximum: MAX_CARD_BALANCE, description })
const Reason = Type.Optional(
  Type.String({ maxLength: 500, description: 'Shown with the movement. Not for personal data.' }),
)
const Key = Type.String({
  minLength: 1,
  maxLength: 200,
  ...PRINTABLE,
  description:
    'A key of your own, unique per movement. A repeat with it moves nothing and answers the same card. Another request with ' +
    'it gets 409.',
})

const MovementQuery = Type.Object({
  ...pageParameters,
  poolId: Type.Optional(Id),
  couponId: Type.Optional(Id),
  orderId: equalTo('Those of one order.'),
})
export type MovementQuery = Static<typeof MovementQuery>

const tag = 'Gift cards'
const collection = '/api/projects/{projectId}/gift-cards'
const one = `${collection}/{id}`
const editor = { by: 'project', role: 'editor' } as const
const viewer = { by: 'project', role: 'viewer' } as const
const card = { description: 'The card', schema: CouponView }
const refused = {
  description:
    'The card does not allow it now: it was revoked, has expired, is held for a cart, has too little balance or would hold too ' +
    'much, or the key belongs to another request. `reason` says which',
  schema: Type.Object({
    error: Type.String(),
    reason: Type.Unsafe<CardRefusal>({
      type: 'string',
      enum: [
        'revoked',
        'expired',
        'pool_not_ready',
        'held',
        'insufficient_balance',
        'balance_limit',
        'key_reused',
      ],
    }),
  }),
}
/** Why a movement is refused. */
export type CardRefusal =
  | 'revoked'
  | 'expired'
  | 'pool_not_ready'
  | 'held'
  | 'insufficient_balance'
  | 'balance_limit'
  | 'key_reused'

export const listCardMovements = defineOperation({
  id: 'listCardMovements',
  method: 'get',
  path: `${collection}/movements`,
  tag,
  summary: 'List the movements of gift cards',
  description:
    'Of a card, of a pool or of all. `amount` is what the movement changed: of the card with `couponId`, otherwise of all cards ' +
    'of the pool. A transfer within a pool changes nothing there.',
  access: viewer,
  query: MovementQuery,
  answers: {
    200: { description: 'A page of movements, the newest first', schema: pageOf(CardMovementView) },
  },
})

export const getPoolLedger = defineOperation({
  id: 'getPoolLedger',
  method: 'get',
  path: '/api/projects/{projectId}/coupon-pools/{id}/ledger',
  tag,
  summary: 'Read the accounts of a pool of gift cards',
  description:
    'The accounts amount to zero, with what was transferred to and from other pools. For a pool without gift cards all are 0.',
  access: viewer,
  answers: {
    200: {
      description: 'The accounts, in minor units',
      schema: Type.Object({
        currency: NullableString,
        balance: Type.Integer({ description: 'What all cards hold now.' }),
        issued: Type.Integer({ description: 'What was issued and topped up.' }),
        spent: Type.Integer({ description: 'What orders were paid with, without refunds.' }),
        breakage: Type.Integer({ description: 'What has expired.' }),
        transferred: Type.Integer({
          description: 'What came from other pools; below 0 if more went to them.',
        }),
      }),
    },
  },
})

export const topUpGiftCard = defineOperation({
  id: 'topUpGiftCard',
  method: 'post',
  path: `${one}/top-up`,
  tag,
  summary: 'Top up a gift card',
  description: 'Adds to the balance of a card. `id` is that of its coupon.',
  access: editor,
  effects: [],
  body: Type.Object({
    amount: Amount('In minor units of the currency of the card.'),
    key: Key,
    reason: Reason,
  }),
  answers: { 200: card, 409: refused },
})

export const refundGiftCard = defineOperation({
  id: 'refundGiftCard',
  method: 'post',
  path: `${one}/refund`,
  tag,
  summary: 'Refund an order to a gift card',
  description:
    'Returns what the card paid for an order, or a part of it. `amount` says what is refunded **in all**, with earlier refunds ' +
    'of the order, so it is safe to repeat a request. Less than before is refused.',
  access: editor,
  effects: [],
  body: Type.Object({
    orderId: Type.String({ minLength: 1, maxLength: 200, ...PRINTABLE }),
    amount: Type.Optional(
      Amount('What is refunded in all, at most what the card paid for the order. Default: all of it.'),
    ),
    reason: Reason,
  }),
  answers: { 200: card, 409: refused },
})

export const transferGiftCard = defineOperation({
  id: 'transferGiftCard',
  method: 'post',
  path: `${one}/transfer`,
  tag,
  summary: 'Transfer the balance of a gift card',
  description:
    'Moves money to another card of the same currency, also from a card that was revoked: so a lost card is replaced.',
  access: editor,
  effects: [],
  body: Type.Object({
    to: CartCode,
    amount: Type.Optional(Amount('In minor units. Default: the whole balance.')),
    key: Key,
    reason: Reason,
  }),
  answers: {
    200: card,
    409: refused,
    404: { description: 'The project has no such card', schema: ErrorBody },
  },
})

export const giftCardOperations = [
  listCardMovements,
  getPoolLedger,
  topUpGiftCard,
  refundGiftCard,
  transferGiftCard,
]

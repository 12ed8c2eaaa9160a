import { Type } from 'typebox'
import { type PointRefusal, pointRefusals } from '../loyalty.ts'
import { Id } from '../schema-parts.ts'
import { DiscountedItems, holdTerms, Payments, QualifyRequest } from './cart.ts'
import { CodeRefusalSchema } from './coupon-operations.ts'
import { Discount } from './coupon-views.ts'
import { ErrorBody } from './error-bodies.ts'
import { defineOperation } from './operation.ts'

const amounts = {
  discountAmount: Type.Integer({ description: 'In minor units.' }),
  shippingDiscountAmount: Type.Integer({ description: 'The part of it for the shipping.' }),
}
const granted = {
  ...amounts,
  itemDiscounts: Type.Array(Type.Integer(), {
    description: 'The discount of each line of the cart, in the order of the request.',
  }),
}
const terms = {
  name: Type.String(),
  discount: Discount,
  stackable: Type.Boolean({ description: 'Whether it combines with others that are stackable.' }),
  priority: Type.Integer(),
}
/** What a cart lacks. */
const Missing = Type.Object({
  amount: Type.Optional(
    Type.Integer({ description: 'What more items must amount to, before discounts, in minor units.' }),
  ),
  quantity: Type.Optional(
    Type.Integer({ description: 'The units that `buy_x_get_y` needs beyond those there.' }),
  ),
})

const QualifyResult = Type.Object({
  best: Type.Object(
    {
      ...amounts,
      items: DiscountedItems,
      promotions: Type.Array(Type.Object({ id: Id, ...granted }), {
        description: 'The promotions of the combination, and what each grants in it.',
      }),
      codes: Type.Array(Type.Object({ code: Type.String(), ...granted }), {
        description: 'The codes of the combination, and what each grants in it.',
      }),
    },
    {
      description:
        'The combination that grants most. Redeem the ids of its promotions as `promotions`, and its codes as `codes`.',
    },
  ),
  promotions: Type.Array(Type.Object({ id: Id, ...terms, ...granted }), {
    description: 'All promotions that apply to the cart, and what each would grant alone.',
  }),
  codes: Type.Array(
    Type.Object({
      code: Type.String(),
      valid: Type.Boolean({
        description: 'Whether it applies to the cart. It need not be part of the best combination.',
      }),
      reason: Type.Optional(CodeRefusalSchema),
      message: Type.Optional(Type.String({ description: 'The reason in words.' })),
      missing: Type.Optional(Missing),
      ...granted,
    }),
    { description: 'One for each code, in the order of the request, and what it would grant alone.' },
  ),
  ...Payments,
  points: Type.Optional(
    Type.Object(
      {
        programme: Type.String(),
        points: Type.Integer({ description: 'What the order would spend.' }),
        amount: Type.Integer({
          description: 'What they are worth, in minor units. Part of what reduces `amountDue`.',
        }),
        balance: Type.Integer({ description: 'The points that the person has.' }),
        reason: Type.Optional(
          Type.Unsafe<PointRefusal>({
            type: 'string',
            enum: [...pointRefusals],
            description: 'Why no points would be spent, as `redeem` would answer.',
          }),
        ),
      },
      { description: 'When the request names a programme.' },
    ),
  ),
  ...holdTerms,
  nearMisses: Type.Array(
    Type.Object({
      id: Id,
      ...terms,
      missing: Missing,
      message: Type.String({ description: 'What is missing, in words.' }),
    }),
    { description: 'Promotions that would apply if the cart had more of their items.' },
  ),
})

export const qualifyPromotions = defineOperation({
  id: 'qualifyPromotions',
  method: 'post',
  path: '/api/v1/promotions/qualify',
  tag: 'Coupons',
  summary: 'Find the promotions that a cart qualifies for',
  description:
    'Answers all automatic promotions and the given codes that apply to a cart now, the combination of them that ' +
    'grants most, what gift cards pay of the rest, and promotions for which only items are missing. Changes nothing, unless `hold` reserves `best`. Discounts are computed and ' +
    'combined as `validate` does. Of up to 8 that apply every combination is compared; of more, all stackable ones ' +
    'together are compared with each one that is not. The result does not depend on the order of items and codes. ' +
    'Unknown codes are limited as for look-ups: after 30 in a minute every request with codes gets 429.',
  access: { by: 'key', scope: 'coupons:read', orScope: 'coupons:redeem' },
  forPrograms: true,
  limited: true,
  body: QualifyRequest,
  answers: {
    200: { description: 'The promotions, also when none applies', schema: QualifyResult },
    400: {
      description:
        'The body is not JSON, a field is missing, invalid or unknown, the cart exceeds a limit, or a `pub` key sends ' +
        'a userId or may not hold what applies',
      schema: ErrorBody,
    },
  },
})

export const promotionOperations = [qualifyPromotions]

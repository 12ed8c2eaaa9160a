import { Type } from 'typebox'
import { Id } from '../schema-parts.ts'
import { MAX_CART_LINES, MAX_LINE_QUANTITY } from './cart.ts'
import { MinorUnits, RedemptionView } from './coupon-views.ts'
import { defineOperation } from './operation.ts'
import { equalTo, pageOf, pageParameters } from './page.ts'

const RedemptionQuery = Type.Object({
  ...pageParameters,
  poolId: Type.Optional(Id),
  couponId: Type.Optional(Id),
  orderId: equalTo('Those of one order.'),
})

const tag = 'Redemptions'
const collection = '/api/projects/{projectId}/redemptions'

export const listRedemptions = defineOperation({
  id: 'listRedemptions',
  method: 'get',
  path: collection,
  tag,
  summary: 'List redemptions',
  access: { by: 'project', role: 'viewer' },
  query: RedemptionQuery,
  answers: {
    200: { description: 'A page of redemptions, the newest first', schema: pageOf(RedemptionView) },
  },
})

export const rollBackRedemption = defineOperation({
  id: 'rollBackRedemption',
  method: 'post',
  path: `${collection}/{id}/rollback`,
  tag,
  summary: 'Roll back a redemption',
  description:
    'The coupon can be redeemed again, unless it was revoked, and no longer counts towards limits. A second ' +
    'rollback changes nothing. The redemption and its event are kept, and a record on `coupons.redeemed.v1` ' +
    'reports the rollback. With `amount` or `items` only a part of the discount is rolled back: it returns to the ' +
    'budget, and the coupon stays redeemed. Both name the state in all, so a request can be repeated.',
  access: { by: 'project', role: 'editor' },
  effects: [],
  body: Type.Object({
    reason: Type.Optional(Type.String({ maxLength: 500 })),
    points: Type.Optional(
      Type.Boolean({
        description:
          'Whether the loyalty points of its order are reversed as well, as `POST loyalty-orders/reverse` does. Not beside ' +
          '`amount` and `items`. Default: false.',
      }),
    ),
    amount: Type.Optional(
      MinorUnits('The part of the discount that is rolled back in all, with earlier partial rollbacks.'),
    ),
    items: Type.Optional(
      Type.Array(
        Type.Object({
          sku: Type.String({ minLength: 1, maxLength: 200 }),
          quantity: Type.Integer({
            minimum: 0,
            maximum: MAX_CART_LINES * MAX_LINE_QUANTITY,
            description: 'The units that were returned in all.',
          }),
        }),
        {
          minItems: 1,
          maxItems: MAX_CART_LINES,
          description:
            'The returned items, whose discounts are rolled back; each SKU once, instead of `amount`.',
        },
      ),
    ),
  }),
  answers: { 200: { description: 'The redemption', schema: RedemptionView } },
})

export const redemptionOperations = [listRedemptions, rollBackRedemption]

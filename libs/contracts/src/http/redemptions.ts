import { Type } from 'typebox'
import { Id } from '../schema-parts.ts'
import { RedemptionView } from './coupon-views.ts'
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
    'reports the rollback.',
  access: { by: 'project', role: 'editor' },
  body: Type.Object({ reason: Type.Optional(Type.String({ maxLength: 500 })) }),
  answers: { 200: { description: 'The redemption', schema: RedemptionView } },
})

export const redemptionOperations = [listRedemptions, rollBackRedemption]

import { type Static, Type } from 'typebox'
import { Id } from '../schema-parts.ts'
import { CouponHistory, CouponStatusSchema, CouponView } from './coupon-views.ts'
import { defineOperation } from './operation.ts'
import { equalTo, pageOf, pageParameters } from './page.ts'

/** Maximum coupons to revoke in one request. */
const MAX_REVOKED_IDS = 1_000

const filters = {
  poolId: Type.Optional(Id),
  status: Type.Optional(CouponStatusSchema),
  q: equalTo('The beginning of the code. Case and dashes do not matter. The results are ordered by code.'),
}
const CouponQuery = Type.Object({ ...pageParameters, ...filters })
export type CouponQuery = Static<typeof CouponQuery>

const Revocation = Type.Object({
  ids: Type.Optional(
    Type.Array(Id, { minItems: 1, maxItems: MAX_REVOKED_IDS, description: 'The ids of the coupons.' }),
  ),
  poolId: Type.Optional(Id),
  status: Type.Optional(
    Type.Unsafe<'available' | 'assigned'>({ type: 'string', enum: ['available', 'assigned'] }),
  ),
  q: filters.q,
})
export type Revocation = Static<typeof Revocation>

const tag = 'Coupons'
const collection = '/api/projects/{projectId}/coupons'

export const listCoupons = defineOperation({
  id: 'listCoupons',
  method: 'get',
  path: collection,
  tag,
  summary: 'List coupons',
  access: { by: 'project', role: 'viewer' },
  query: CouponQuery,
  answers: {
    200: { description: 'A page of coupons, the newest first; with `q` by code', schema: pageOf(CouponView) },
  },
})

export const getCoupon = defineOperation({
  id: 'getCoupon',
  method: 'get',
  path: `${collection}/{id}`,
  tag,
  summary: 'Read a coupon with its history',
  access: { by: 'project', role: 'viewer' },
  answers: { 200: { description: 'The coupon, redemptions and refused attempts', schema: CouponHistory } },
})

export const updateCoupon = defineOperation({
  id: 'updateCoupon',
  method: 'patch',
  path: `${collection}/{id}`,
  tag,
  summary: 'Revoke a coupon',
  description: 'Revoking is permanent. To revoke a redeemed coupon, roll its redemption back first.',
  access: { by: 'project', role: 'editor' },
  effects: [],
  body: Type.Object({ status: Type.Literal('revoked') }),
  answers: { 200: { description: 'The coupon', schema: CouponView } },
})

export const revokeCoupons = defineOperation({
  id: 'revokeCoupons',
  method: 'post',
  path: `${collection}/revoke`,
  tag,
  summary: 'Revoke many coupons',
  description:
    'Revokes the coupons in `ids`, or all coupons of a pool, filtered by `status` and `q`. Redeemed and ' +
    'revoked coupons do not change. It is safe to repeat.',
  access: { by: 'project', role: 'editor' },
  effects: [],
  takesLong: true,
  body: Revocation,
  answers: {
    200: {
      description: 'The number of coupons that were revoked',
      schema: Type.Object({ revoked: Type.Integer() }),
    },
  },
})

export const managedCouponOperations = [listCoupons, getCoupon, updateCoupon, revokeCoupons]

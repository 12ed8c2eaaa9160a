import { type Static, Type } from 'typebox'
import { type CartRefusal, cartRefusals, MAX_CARD_BALANCE } from '../coupon.ts'
import { CURRENCY_DESCRIPTION } from '../currency.ts'
import { Name, patternOf, WithBom } from '../schema-parts.ts'

import { CartRequest, DiscountedItems } from './cart.ts'
import {
  Budget,
  CouponRules,
  CouponView,
  Discount,
  nullable,
  PoolKindSchema,
  PoolView,
} from './coupon-views.ts'
import { ErrorBody, RetryAfterSeconds } from './error-bodies.ts'
import { optionalId } from './identify.ts'
import { defineOperation } from './operation.ts'
import { PageQuery, pageOf } from './page.ts'

/** Maximum codes of a pool. */
export const MAX_POOL_SIZE = 100_000_000
/** Maximum lines that the result of an import lists. All are counted. */
export const MAX_REPORTED_LINES = 1_000
const MAX_PRIORITY = 1_000

const Limit = (description: string) =>
  Type.Optional(
    Type.Unsafe<number | null>({ type: ['integer', 'null'], minimum: 1, maximum: 2 ** 31 - 1, description }),
  )
const Time = (description: string) =>
  Type.Optional(Type.Unsafe<string | null>({ type: ['string', 'null'], format: 'date-time', description }))
const terms = {
  startsAt: Time('Before it nothing is redeemed.'),
  expiresAt: Time('From then on nothing is redeemed.'),
  perProfileLimit: Limit('Redemptions by one person; then redeeming needs a userId or visitorId.'),
  maxRedemptions: Limit('Redemptions in all.'),
  rules: Type.Optional(nullable<CouponRules>(CouponRules)),
  stackable: Type.Optional(
    Type.Boolean({
      description: 'Whether it combines with other stackable coupons in a cart. Default: false.',
    }),
  ),
  priority: Type.Optional(
    Type.Integer({
      minimum: 0,
      maximum: MAX_PRIORITY,
      description:
        'Of several coupons and promotions with discounts of one type, the higher priority applies first, and of ' +
        'combinations that grant the same, the one with the higher priorities. Default: 0.',
    }),
  ),
  budgetAmount: Type.Optional(nullable<Budget>(Budget)),
}

const NewPool = Type.Object({
  name: Name,
  kind: PoolKindSchema,
  size: Type.Optional(
    Type.Integer({
      minimum: 1,
      maximum: MAX_POOL_SIZE,
      description:
        'The number of codes to generate. A unique pool without it stays a draft until codes are imported.',
    }),
  ),
  code: Type.Optional(
    Type.String({
      minLength: 1,
      maxLength: 200,
      description:
        'The code of a shared pool: 3 to 64 letters, digits, `_`, `.` and dashes. Default: generated.',
    }),
  ),
  prefix: Type.Optional(
    Type.String({
      maxLength: 20,
      ...patternOf('^[0-9A-Za-z-]*$', 'letters A to Z, digits and dashes'),
      description: 'The prefix of generated codes.',
    }),
  ),
  alphabet: Type.Optional(
    Type.String({
      minLength: 2,
      maxLength: 36,
      description:
        'The characters of generated codes: an even number of letters and digits. Default: without characters that look alike.',
    }),
  ),
  length: Type.Optional(
    Type.Integer({
      minimum: 2,
      maximum: 40,
      description:
        'The number of characters after the prefix. The last one is a check character. Default: 16.',
    }),
  ),
  discount: Type.Optional(
    Type.Object(Discount.properties, { description: 'Required, except for gift cards, which have none.' }),
  ),
  amount: Type.Optional(
    Type.Integer({
      minimum: 1,
      maximum: MAX_CARD_BALANCE,
      description: 'Of a `balance` pool: what each gift card holds at first, in minor units.',
    }),
  ),
  currency: Type.Optional(
    Type.String({
      format: 'currency',
      description: `The currency of the gift cards of a \`balance\` pool. ${CURRENCY_DESCRIPTION}`,
    }),
  ),
  ...terms,
})
export type NewPool = Static<typeof NewPool>

const PoolPatch = Type.Object({
  name: Type.Optional(Name),
  discount: Type.Optional(Discount),
  ...terms,
})
export type PoolPatch = Static<typeof PoolPatch>

const tag = 'Coupon pools'
const collection = '/api/projects/{projectId}/coupon-pools'
const one = `${collection}/{id}`
const pool = { description: 'The pool', schema: PoolView }
const editor = { by: 'project', role: 'editor' } as const
const viewer = { by: 'project', role: 'viewer' } as const

export const createCouponPool = defineOperation({
  id: 'createCouponPool',
  method: 'post',
  path: collection,
  tag,
  summary: 'Create a pool of coupons',
  description:
    'A pool of the kind `automatic` has no codes: it is a promotion for `POST /api/v1/promotions/qualify`. A pool of the kind ' +
    '`balance` has gift cards: it needs `amount` and `currency`, and has no discount, rules, limits or budget. For other ' +
    'kinds codes are generated in the background, in chunks; `generated` and `size` show the progress. The request ' +
    'is refused when alphabet and length give fewer than 60 random bits, or too few codes for the pool; the ' +
    'message contains the number.',
  access: editor,
  effects: [],
  body: NewPool,
  answers: { 201: pool },
})

export const listCouponPools = defineOperation({
  id: 'listCouponPools',
  method: 'get',
  path: collection,
  tag,
  summary: 'List pools',
  access: viewer,
  query: PageQuery,
  answers: { 200: { description: 'A page of pools, the newest first', schema: pageOf(PoolView) } },
})

export const getCouponPool = defineOperation({
  id: 'getCouponPool',
  method: 'get',
  path: one,
  tag,
  summary: 'Read a pool',
  access: viewer,
  answers: { 200: pool },
})

export const updateCouponPool = defineOperation({
  id: 'updateCouponPool',
  method: 'patch',
  path: one,
  tag,
  summary: 'Change a pool',
  description:
    'A limit below the number of redemptions does not undo any of them. `null` removes a time, a limit, the rules ' +
    'or the budget. A budget counts from when it is first set, and keeps its currency once something was granted.',
  access: editor,
  effects: [],
  body: PoolPatch,
  answers: { 200: pool },
})

export const previewCouponPool = defineOperation({
  id: 'previewCouponPool',
  method: 'post',
  path: `${one}/preview`,
  tag,
  summary: 'Try a cart',
  description:
    'What a coupon of the pool would grant for a cart, whether or not the pool has one. Changes nothing.',
  access: viewer,
  readOnly: true,
  body: CartRequest,
  answers: {
    200: {
      description: 'The discount, or why there is none',
      schema: Type.Object({
        valid: Type.Boolean(),
        reason: Type.Optional(Type.Unsafe<CartRefusal>({ type: 'string', enum: [...cartRefusals] })),
        message: Type.Optional(Type.String({ description: 'The reason in words.' })),
        discountAmount: Type.Integer(),
        shippingDiscountAmount: Type.Integer(),
        items: DiscountedItems,
      }),
    },
  },
})

export const archiveCouponPool = defineOperation({
  id: 'archiveCouponPool',
  method: 'delete',
  path: one,
  tag,
  summary: 'Archive a pool',
  description: 'Its coupons can no longer be redeemed. Redemptions are kept.',
  access: editor,
  effects: [],
  answers: { 204: { description: 'Archived' } },
})

export const topUpCouponPool = defineOperation({
  id: 'topUpCouponPool',
  method: 'post',
  path: `${one}/top-up`,
  tag,
  summary: 'Generate more codes',
  description: 'A ready pool stays ready. A failed pool is tried again.',
  access: editor,
  effects: [],
  body: Type.Object({ count: Type.Integer({ minimum: 1, maximum: MAX_POOL_SIZE }) }),
  answers: { 200: pool },
})

export const assignCouponOfPool = defineOperation({
  id: 'assignCoupon',
  method: 'post',
  path: `${one}/assign`,
  tag,
  summary: 'Assign a coupon to a person',
  description:
    'A person gets one coupon of a pool; a repeat returns the same one. Only this person can redeem it. For a shared pool it is the code of the pool.',
  access: editor,
  effects: [],
  body: Type.Object({
    userId: optionalId('Whom to give it to.'),
    visitorId: optionalId('The same, anonymous.'),
  }),
  answers: {
    200: { description: 'The coupon', schema: CouponView },
    409: {
      description: 'No coupon is available',
      schema: Type.Object({
        error: Type.String(),
        reason: Type.Unsafe<string>({
          type: 'string',
          enum: ['pool_not_ready', 'expired', 'revoked', 'exhausted'],
        }),
      }),
    },
  },
})

export const importCoupons = defineOperation({
  id: 'importCoupons',
  takesLong: true,
  method: 'post',
  path: `${one}/import`,
  tag,
  summary: 'Import codes from CSV',
  description:
    'The codes are in the only column, or in the one that the header names `code` or, in any case and with spaces, ' +
    '`_` or `-`, coupon, coupon code, promo code, promotion code, discount code, voucher, voucher code, voucher number, ' +
    'gift card code, gift card number, card number, Gutschein, Gutscheincode, Gutscheinnummer, Rabattcode, code promo, ' +
    'código or another usual name. Where the only column begins with what may be a header, the file is refused. Columns are separated by commas, ' +
    'semicolons, tabs or `|`, in UTF-8, UTF-16 or Windows-1252, with or without a BOM. The file may have any length. Invalid lines are reported, and the others are imported. Codes that were imported ' +
    'before are duplicates, so it is safe to repeat the request after a failure. For gift cards a column `balance` says what ' +
    'each holds, as a decimal such as 25.00; an empty one or none: the amount of the pool.',
  access: editor,
  effects: [],
  consumes: ['text/csv'],
  answers: {
    200: {
      description: 'Imported',
      schema: Type.Object({
        imported: Type.Integer(),
        duplicates: Type.Integer({ description: 'Codes that the project already has, or that occur twice.' }),
        invalid: Type.Integer(),
        errors: Type.Array(
          Type.Object({ line: Type.Integer(), code: Type.String(), reason: Type.String() }),
          { description: `The first ${MAX_REPORTED_LINES} duplicates and invalid lines.` },
        ),
      }),
    },
    415: { description: 'The body is not text/csv', schema: ErrorBody },
    422: {
      description: 'The pool is shared, automatic or archived, or it is not clear which column has the codes',
      schema: ErrorBody,
    },
  },
})

export const exportCoupons = defineOperation({
  id: 'exportCoupons',
  takesLong: true,
  method: 'get',
  path: `${one}/export`,
  tag,
  summary: 'Export codes as CSV',
  description:
    'Streams all coupons of the pool, oldest first. At most two exports per project and four per tenant ' +
    'run at the same time per process, and forty in total: then the latest of the tenant with the most is broken off ' +
    'for one with fewer. A client that accepts no data for 30 seconds is disconnected.',
  access: viewer,
  query: Type.Object({ bom: WithBom }),
  answers: {
    200: {
      description:
        'Columns: code, status, assignedProfileId, redeemedAt, revokedAt, createdAt; of gift cards also balance (a decimal) ' +
        'and currency',
      contentTypes: ['text/csv'],
    },
    429: { description: 'The maximum number of exports is running', schema: RetryAfterSeconds },
  },
})

export const couponPoolOperations = [
  createCouponPool,
  listCouponPools,
  getCouponPool,
  updateCouponPool,
  previewCouponPool,
  archiveCouponPool,
  topUpCouponPool,
  assignCouponOfPool,
  importCoupons,
  exportCoupons,
]

import { randomUUID } from 'node:crypto'
import { backtestCouponPool } from '@waymark/contracts/http/backtests'
import { lookUpCoupon, redeemCoupon, validateCoupons } from '@waymark/contracts/http/coupon-operations'
import {
  archiveCouponPool,
  assignCouponOfPool,
  createCouponPool,
  exportCoupons,
  getCouponPool,
  importCoupons,
  listCouponPools,
  previewCouponPool,
  topUpCouponPool,
  updateCouponPool,
} from '@waymark/contracts/http/coupon-pools'
import { getCoupon, listCoupons, revokeCoupons, updateCoupon } from '@waymark/contracts/http/coupons'
import {
  getPoolLedger,
  listCardMovements,
  refundGiftCard,
  topUpGiftCard,
  transferGiftCard,
} from '@waymark/contracts/http/gift-cards'
import { releaseHold, renewHold } from '@waymark/contracts/http/holds'
import { qualifyPromotions } from '@waymark/contracts/http/promotions'
import { listRedemptions, rollBackRedemption } from '@waymark/contracts/http/redemptions'
import { type Example, stringIn } from './example.ts'
import type { Call, World } from './world.ts'

const PAST = '2020-01-01T00:00:00Z'
const FUTURE = '2100-01-01T00:00:00Z'

const aPool = () => ({
  name: 'A tenth off',
  kind: 'unique',
  size: 2,
  discount: { type: 'percent', value: 10 },
})
const aCart = {
  currency: 'EUR',
  items: [{ sku: 'shirt-m', category: 'clothes', quantity: 2, unitAmount: 1995 }],
  shippingAmount: 490,
}
const csv = (...codes: string[]): Call => ({
  headers: { 'Content-Type': 'text/csv' },
  body: ['code', ...codes].join('\n'),
})

const newPool = async ({ call }: World, values: object = {}) => {
  const { body } = await call(createCouponPool, { body: { ...aPool(), ...values } })
  return { id: stringIn(body, 'id') }
}
const onPool = async (world: World) => ({ params: await newPool(world) })

/** A ready pool with a shared code. */
const sharedPool = async (world: World, values: object = {}) => {
  const code = `ALL-${randomUUID()}`
  const { id } = await newPool(world, { kind: 'shared', size: 1, code, ...values })
  return { id, code }
}

/** A ready pool with a code for one person. */
const poolOfOne = async (world: World) => {
  const code = `ONE-${randomUUID()}`
  const { id } = await newPool(world, { size: undefined })
  await world.call(importCoupons, { params: { id }, ...csv(code) })
  return { id, code }
}

const newCoupon = async (world: World) => {
  const { id: poolId } = await poolOfOne(world)
  const { body } = await world.call(listCoupons, { query: { poolId } })
  const [coupon] = (body as { data: { id: string }[] }).data
  if (!coupon) throw new Error('the pool has no coupon')
  return { params: { id: coupon.id } }
}

const newRedemption = async (world: World) => {
  const { code } = await sharedPool(world)
  const { body } = await world.call(redeemCoupon, { body: { code } })
  return { id: stringIn((body as { redemption: unknown }).redemption, 'id') }
}

const toSomebody = ({ id }: { id: string }): Call => ({ params: { id }, body: { userId: randomUUID() } })

/** A live hold of a code. */
const newHold = async (world: World) => {
  const { code } = await sharedPool(world)
  const { body } = await world.call(validateCoupons, { body: { code, hold: 600, ...aCart } })
  return { params: { holdId: stringIn(body, 'holdId') } }
}

/** A gift card, and its code. */
const newCard = async (world: World, values: object = {}) => {
  const code = `CARD-${randomUUID()}`
  const card = { kind: 'balance', amount: 5_000, currency: 'EUR', size: undefined, discount: undefined }
  const { id: poolId } = await newPool(world, { ...card, ...values })
  await world.call(importCoupons, { params: { id: poolId }, ...csv(code) })
  const { body } = await world.call(listCoupons, { query: { poolId } })
  const [coupon] = (body as { data: { id: string }[] }).data
  if (!coupon) throw new Error('the pool has no card')
  return { id: coupon.id, poolId, code }
}

/** The order and the other card of the examples in the document. */
const ORDER = 'order-1001'
const OTHER_CARD = 'GIFT-7K3M-PQXA'

/** A gift card that has paid for an order, which is large enough for all cards of the tests. */
const spentCard = async (world: World) => {
  const card = await newCard(world)
  const order = { orderId: ORDER, amount: 1_000_000_000, currency: 'EUR' }
  await world.call(redeemCoupon, { body: { code: card.code, ...order } })
  return { ...card, orderId: ORDER }
}

const cardExamples: Example[] = [
  {
    operation: listCardMovements,
    good: async (world) => ({ query: { couponId: (await spentCard(world)).id } }),
  },
  { operation: getPoolLedger, good: async (world) => ({ params: { id: (await spentCard(world)).poolId } }) },
  {
    operation: topUpGiftCard,
    good: async (world) => ({
      params: { id: (await newCard(world)).id },
      body: { amount: 500, key: randomUUID() },
    }),
    others: {
      409: async (world) => ({
        params: { id: (await newCard(world, { expiresAt: PAST })).id },
        body: { amount: 500, key: randomUUID() },
      }),
    },
  },
  {
    operation: refundGiftCard,
    good: async (world) => {
      const { id, orderId } = await spentCard(world)
      return { params: { id }, body: { orderId, amount: 400 } }
    },
    others: {
      409: async (world) => {
        const { id, poolId, orderId } = await spentCard(world)
        await world.call(revokeCoupons, { body: { poolId } })
        return { params: { id }, body: { orderId } }
      },
    },
  },
  {
    operation: transferGiftCard,
    good: async (world) => {
      const { id, poolId } = await newCard(world)
      await world.call(importCoupons, { params: { id: poolId }, ...csv(OTHER_CARD) })
      return { params: { id }, body: { to: OTHER_CARD, key: randomUUID() } }
    },
    others: {
      404: async (world) => ({
        params: { id: (await newCard(world)).id },
        body: { to: randomUUID(), key: randomUUID() },
      }),
      409: async (world) => ({
        params: { id: (await newCard(world)).id },
        body: { to: (await newCard(world)).code, amount: 5_001, key: randomUUID() },
      }),
    },
  },
]

export const couponExamples: Example[] = [
  ...cardExamples,
  {
    operation: redeemCoupon,
    good: async (world) => ({
      body: { codes: [(await sharedPool(world)).code], userId: 'u', orderId: randomUUID(), ...aCart },
    }),
    others: {
      404: () => ({ body: { code: randomUUID() } }),
      409: {
        pool_not_ready: async (world) => ({
          body: { code: (await sharedPool(world, { startsAt: FUTURE })).code },
        }),
        revoked: async (world) => {
          const { id: poolId, code } = await sharedPool(world)
          await world.call(revokeCoupons, { body: { poolId } })
          return { body: { code } }
        },
        expired: async (world) => ({ body: { code: (await sharedPool(world, { expiresAt: PAST })).code } }),
        already_redeemed: async (world) => {
          const { code } = await poolOfOne(world)
          await world.call(redeemCoupon, { body: { code } })
          return { body: { code } }
        },
        held: async (world) => {
          const { code } = await poolOfOne(world)
          await world.call(validateCoupons, { body: { code, hold: 600, ...aCart } })
          return { body: { code } }
        },
        minimum_not_reached: async (world) => {
          const rules = { minimumAmount: 1_000_000 }
          const discount = { type: 'amount', value: 500, currency: 'EUR' }
          return { body: { code: (await sharedPool(world, { rules, discount })).code, ...aCart } }
        },
      },
      422: async (world) => {
        const { code } = await sharedPool(world)
        const headers = { 'Idempotency-Key': randomUUID() }
        await world.call(redeemCoupon, { headers, body: { code } })
        return { headers, body: { code, orderId: 'another' } }
      },
    },
  },
  {
    operation: validateCoupons,
    good: async (world) => ({ body: { codes: [(await sharedPool(world)).code, 'UNKNOWN-CODE'], ...aCart } }),
    // Only clients that guess codes reach the limit.
    others: { 429: () => ({ body: { code: randomUUID(), ...aCart } }) },
  },
  {
    operation: qualifyPromotions,
    good: async (world) => {
      await newPool(world, { kind: 'automatic', size: undefined })
      return { body: { codes: [(await sharedPool(world)).code], ...aCart } }
    },
    // Only clients that guess codes reach the limit.
    others: { 429: () => ({ body: { codes: [randomUUID()], ...aCart } }) },
  },
  {
    operation: renewHold,
    good: async (world) => ({ ...(await newHold(world)), body: { hold: 600 } }),
    others: {
      404: () => ({ params: { holdId: randomUUID() }, body: { hold: 600 } }),
      // Making a hold counts for the same limit.
      429: () => ({ params: { holdId: randomUUID() }, body: { hold: 600 } }),
    },
  },
  {
    operation: releaseHold,
    good: newHold,
    others: {
      404: () => ({ params: { holdId: randomUUID() } }),
      429: () => ({ params: { holdId: randomUUID() } }),
    },
  },
  {
    operation: lookUpCoupon,
    good: async (world) => ({ params: { code: (await sharedPool(world)).code } }),
    // Only clients that guess codes reach the limit.
    others: { 404: () => ({}), 429: () => ({}) },
  },
  { operation: createCouponPool, good: () => ({ body: aPool() }) },
  { operation: listCouponPools, good: () => ({ query: { limit: '2' } }) },
  { operation: getCouponPool, good: async (world) => ({ params: { id: (await sharedPool(world)).id } }) },
  {
    operation: updateCouponPool,
    good: async (world) => ({ ...(await onPool(world)), body: { name: 'New' } }),
  },
  {
    operation: previewCouponPool,
    good: async (world) => ({ ...(await onPool(world)), body: { ...aCart, userId: 'u' } }),
  },
  {
    operation: backtestCouponPool,
    good: async (world) => ({ ...(await onPool(world)), body: { days: 1, eventName: 'order_placed' } }),
  },
  { operation: archiveCouponPool, good: onPool },
  { operation: topUpCouponPool, good: async (world) => ({ ...(await onPool(world)), body: { count: 1 } }) },
  {
    operation: assignCouponOfPool,
    good: async (world) => toSomebody(await poolOfOne(world)),
    others: {
      409: {
        pool_not_ready: async (world) => toSomebody(await newPool(world, { size: undefined })),
        expired: async (world) => toSomebody(await sharedPool(world, { expiresAt: PAST })),
        revoked: async (world) => {
          const pool = await poolOfOne(world)
          const person = toSomebody(pool)
          await world.call(assignCouponOfPool, person)
          await world.call(revokeCoupons, { body: { poolId: pool.id } })
          return person
        },
        exhausted: async (world) => {
          const pool = await poolOfOne(world)
          await world.call(assignCouponOfPool, toSomebody(pool))
          return toSomebody(pool)
        },
      },
    },
  },
  {
    operation: importCoupons,
    good: async (world) => ({ ...(await onPool(world)), ...csv(randomUUID(), '?') }),
    others: {
      415: async (world) => ({
        ...(await onPool(world)),
        headers: { 'Content-Type': 'text/plain' },
        body: 'A',
      }),
      422: async (world) => ({ params: { id: (await sharedPool(world)).id }, ...csv(randomUUID()) }),
    },
  },
  { operation: exportCoupons, good: async (world) => ({ params: { id: (await poolOfOne(world)).id } }) },
  { operation: listCoupons, good: () => ({ query: { limit: '2', status: 'available' } }) },
  { operation: getCoupon, good: newCoupon },
  {
    operation: updateCoupon,
    good: async (world) => ({ ...(await newCoupon(world)), body: { status: 'revoked' } }),
  },
  {
    operation: revokeCoupons,
    good: async (world) => ({ body: { poolId: (await poolOfOne(world)).id, status: 'available' } }),
  },
  { operation: listRedemptions, good: () => ({ query: { limit: '2', orderId: 'o' } }) },
  {
    operation: rollBackRedemption,
    good: async (world) => ({ params: await newRedemption(world), body: { reason: 'They sent it back' } }),
  },
]

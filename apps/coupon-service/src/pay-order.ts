import { amountDue } from '@waymark/domain/coupon'
import {
  findOrderPayments,
  type Movement,
  type OrderPayment,
  readBalances,
  spendCard,
} from '@waymark/pipeline'
import type { ClientBase } from 'pg'
import { v7 as uuidv7 } from 'uuid'
import { payDue, sumOfPayments, totalOf } from './cart-payments.ts'
import { type Answer, provisional } from './idempotency-queries.ts'
import { type GiftCard, viewCoupon } from './redeemable-coupon-queries.ts'
import type { Redeem } from './redemption-queries.ts'
import { publishSpending } from './redemption-records.ts'
import type { Attempt } from './redemption-refusal.ts'

/** A gift card that cannot pay, and why. */
export type Unpaid = { coupon: GiftCard; refusal: 'currency_mismatch' | 'no_balance' }

/** What a gift card pays of an order. `balance`: what it holds afterwards. In minor units. */
type Paid = { coupon: GiftCard; movementId: string | null; amount: number; balance: number }

/** What gift cards pay of an order, and what is left to pay, in minor units. */
export type OrderPaid = { payments: Paid[]; amountDue: number }

/** Why a request to redeem gift cards is refused before anything is read; undefined when it is not. */
export const cardRequestRefusal = (
  cards: readonly GiftCard[],
  { orderId, cart, amount, isList }: Redeem,
  isPublic: boolean,
): Answer | undefined => {
  const [card] = cards
  if (!card) return undefined
  if (isPublic)
    return provisional(409, {
      error: 'A gift card pays only with a secret API key: redeem it from your server',
      reason: 'secret_key_required',
      ...(isList && { code: card.code }),
    })
  if (orderId === null)
    return provisional(400, { error: 'orderId is required for a gift card: the order that it pays' })
  if (cart === null && amount === null)
    return provisional(400, {
      error: 'items, or amount and currency, are required for a gift card: what there is to pay',
    })
  return undefined
}

/**
 * Pays an order with gift cards that the transaction has locked, of what discounts and earlier payments leave. A card that has
 * paid for the order does not pay again. Changes nothing if a card cannot pay.
 */
export const payOrder = async (
  attempt: Attempt,
  cards: readonly GiftCard[],
  granted: number,
): Promise<OrderPaid | Unpaid> => {
  const { client, request, held, at } = attempt
  const { orderId, cart, amount } = request
  const [first] = cards
  const total = cart ? totalOf(cart) : (amount ?? 0)
  if (!first || orderId === null) return { payments: [], amountDue: amountDue(total, [granted]) }
  const currency = cart?.currency ?? request.currency
  const other = cards.find(({ card }) => card.currency !== currency)
  if (other) return { coupon: other, refusal: 'currency_mismatch' }

  const earlier = (await findOrderPayments(client, first.projectId, orderId)).filter(
    ({ spent, refunded }) => spent > refunded,
  )
  const earlierOf = new Map(earlier.map((payment) => [payment.couponId, payment]))
  const current = await withBalances(client, cards)
  const due = amountDue(total, [granted, sumOfPayments(earlier.map(leftOf))])
  const paying = current.filter(({ id }) => !earlierOf.has(id))
  const planned = held ? held.payments : payDue(paying, due)
  const amountOf = new Map(planned.map(({ coupon, amount }) => [coupon.id, amount]))
  // Of an order that was paid in whole, a card that paid nothing may have been spent on another order since.
  const isPaid = !held && earlier.length > 0 && due === 0
  const lacks = ({ id, card }: GiftCard) => card.balance === 0 || card.balance < (amountOf.get(id) ?? 0)
  const lacking = isPaid ? undefined : paying.find(lacks)
  if (lacking) return { coupon: lacking, refusal: 'no_balance' }

  const payments: Paid[] = []
  for (const coupon of inOrder(current, planned)) {
    const before = earlierOf.get(coupon.id)
    const pays = before ? 0 : (amountOf.get(coupon.id) ?? 0)
    const movementId = pays > 0 ? await spend(attempt, coupon, pays) : (before?.movementId ?? null)
    const amount = before ? leftOf(before).amount : pays
    payments.push({ coupon, movementId, amount, balance: coupon.card.balance - pays })
  }
  return {
    payments,
    amountDue: due - sumOfPayments(payments.filter(({ coupon }) => !earlierOf.has(coupon.id))),
  }

  async function spend({ config, device, profileId }: Attempt, coupon: GiftCard, pays: number) {
    const { projectId, pool } = coupon
    const { visitorId, userId } = request
    const person = { profileId, visitorId, userId }
    const movement: Movement = { id: uuidv7(), projectId, kind: 'spent', orderId, person, at }
    await spendCard(
      client,
      movement,
      { id: coupon.id, poolId: pool.id, currency: coupon.card.currency },
      pays,
    )
    await client.query(publishSpending(coupon, movement, pays, config, device))
    return movement.id
  }
}

const leftOf = ({ spent, refunded }: OrderPayment) => ({ amount: spent - refunded })

/** Cards with what they hold now: another order may have been paid since they were read. */
const withBalances = async (client: ClientBase, cards: readonly GiftCard[]): Promise<GiftCard[]> => {
  const balances = await readBalances(
    client,
    cards.map(({ id }) => id),
  )
  return cards.map((coupon) => ({
    ...coupon,
    card: { ...coupon.card, balance: balances.get(coupon.id) ?? 0 },
  }))
}

/** Cards that paid before, and then the others in the order in which they pay. */
const inOrder = (cards: readonly GiftCard[], planned: readonly { coupon: GiftCard }[]): GiftCard[] => {
  const rank = new Map(planned.map(({ coupon }, index) => [coupon.id, index]))
  return cards.toSorted((a, b) => (rank.get(a.id) ?? -1) - (rank.get(b.id) ?? -1))
}

/** The answer for the payment of a request with one code. */
export const viewPaidCard = ({ payments }: OrderPaid, { at, request }: Attempt) => {
  const [paid] = payments
  if (!paid) return {}
  const { coupon, balance } = paid
  const now = { ...coupon, card: { ...coupon.card, balance } }
  return { coupon: viewCoupon(now, at.getTime(), true), payment: viewPayment(paid, request) }
}

/** The payments of a request with several codes. */
export const viewPayments = ({ payments, amountDue: due }: OrderPaid, { request }: Attempt) => ({
  payments: payments.map((paid) => viewPayment(paid, request)),
  paymentAmount: sumOfPayments(payments),
  amountDue: due,
})

const viewPayment = ({ coupon, ...paid }: Paid, { orderId }: Redeem) => ({
  code: coupon.code,
  orderId,
  currency: coupon.card.currency,
  ...paid,
})

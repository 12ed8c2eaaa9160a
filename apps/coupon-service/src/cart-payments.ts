import type { ApiKeyKind } from '@waymark/contracts/api-key'
import type { CartRefusal } from '@waymark/contracts/coupon'
import { amountDue, type Cart, payWith } from '@waymark/domain/coupon'
import type { GiftCard } from './redeemable-coupon-queries.ts'

/** What a gift card pays, in minor units. */
export type CardPayment = { coupon: GiftCard; amount: number }

/**
 * Why a gift card does not pay for a cart. A public key gets no amounts: what a card pays of a large cart is its balance, and a
 * page knows no prices.
 */
export const cardRefusalOf = (
  { card }: GiftCard,
  { currency, keyKind }: { currency: string; keyKind: ApiKeyKind },
): CartRefusal | undefined => {
  if (keyKind === 'pub') return 'secret_key_required'
  if (card.currency !== currency) return 'currency_mismatch'
  return card.balance === 0 ? 'no_balance' : undefined
}

/** What the items and the shipping of a cart amount to, before discounts. */
export const totalOf = ({ items, shippingAmount }: Cart): number =>
  items.reduce((sum, { quantity, unitAmount }) => sum + quantity * unitAmount, shippingAmount)

/** What gift cards pay of `due`, in the order in which they pay. */
export const payDue = (cards: readonly GiftCard[], due: number): CardPayment[] =>
  payWith(
    cards.map((coupon) => ({
      code: coupon.normalizedCode,
      balance: coupon.card.balance,
      expiresAt: coupon.pool.expiresAt,
      coupon,
    })),
    due,
  ).map(({ card: { coupon }, amount }) => ({ coupon, amount }))

/** What gift cards pay of a cart after `discountAmount`, in minor units, as `validate` and `qualify` answer it. */
export const payCart = (cards: readonly GiftCard[], cart: Cart, discountAmount: number) => {
  const due = amountDue(totalOf(cart), [discountAmount])
  const paid = payDue(cards, due)
  const paymentAmount = sumOfPayments(paid)
  return {
    paid,
    view: {
      payments: paid.map(({ coupon: { code }, amount }) => ({ code, amount })),
      paymentAmount,
      amountDue: due - paymentAmount,
    },
  }
}

export const sumOfPayments = (paid: readonly { amount: number }[]): number =>
  paid.reduce((sum, { amount }) => sum + amount, 0)

/** The payments that a hold reserves. A gift card grants nothing: it pays. */
export const chosenPayments = (paid: readonly CardPayment[], { items }: Cart) =>
  paid
    .filter(({ amount }) => amount > 0)
    .map(({ coupon, amount }) => ({
      coupon,
      payment: amount,
      grant: { discountAmount: 0, shippingDiscountAmount: 0, items: items.map(() => 0) },
    }))

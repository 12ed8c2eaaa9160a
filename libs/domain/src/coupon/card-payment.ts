import { sumOf } from './money.ts'

/** A gift card of a cart. `code` is normalized, `balance` in minor units. */
export type PayingCard = { code: string; balance: number; expiresAt: Date | null }

/** The order in which gift cards pay: what expires first is used first, then by code. It does not depend on the request. */
export const inOrderOfPayment = <C extends PayingCard>(cards: readonly C[]): C[] =>
  cards.toSorted((a, b) => endOf(a) - endOf(b) || (a.code < b.code ? -1 : 1))

/** What cards pay of `due` in minor units: each as much of the rest as it holds, in the order of `inOrderOfPayment`. */
export const payWith = <C extends PayingCard>(
  cards: readonly C[],
  due: number,
): { card: C; amount: number }[] => {
  let left = Math.max(0, due)
  return inOrderOfPayment(cards).map((card) => {
    const amount = Math.min(card.balance, left)
    left -= amount
    return { card, amount }
  })
}

/** What is left to pay of a total after discounts and payments, in minor units; never below 0. */
export const amountDue = (total: number, reductions: readonly number[]): number =>
  Math.max(0, total - sumOf(reductions))

const endOf = ({ expiresAt }: PayingCard): number => expiresAt?.getTime() ?? Number.MAX_SAFE_INTEGER

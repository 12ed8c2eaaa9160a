import {
  type EarningRule,
  type LoyaltyProgramme,
  MAX_POINTS,
  type SpendingRate,
  type Tier,
} from '@waymark/contracts/loyalty'
import type { ConversionClaim } from '@waymark/contracts/records/ingest-record'

/** An event as earning rules see it. */
type EarningEvent = {
  conversions: readonly ConversionClaim[]
  properties: Readonly<Record<string, unknown>>
}

/**
 * The points that an event earns by the rules of a programme, at most `MAX_POINTS`, and the order that they belong to. Each rule
 * is rounded down. Undefined when it earns none.
 */
export const earnedPoints = (
  rules: readonly EarningRule[],
  { conversions, properties }: EarningEvent,
): { points: number; orderId: string | null } | undefined => {
  let points = 0
  let orderId: string | null = null
  for (const rule of rules) {
    const claim = conversions.find(({ selectorId }) => selectorId === rule.selectorId)
    const earned = claim ? pointsOf(rule, claim) : 0
    if (earned <= 0) continue
    points += earned
    orderId ??= orderIdOf(properties[rule.orderProperty ?? DEFAULT_ORDER_PROPERTY])
  }
  return points > 0 ? { points: Math.min(points, MAX_POINTS), orderId } : undefined
}

export const DEFAULT_ORDER_PROPERTY = 'orderId'
/** As of the ids of orders in requests. */
const MAX_ORDER_ID_LENGTH = 200

const pointsOf = ({ points, perAmount, currency }: EarningRule, claim: ConversionClaim): number => {
  if (perAmount === undefined) return points
  const { amount } = claim
  if (amount === null || amount <= 0 || claim.currency !== currency) return 0
  return productBy(amount, points, perAmount)
}

const orderIdOf = (value: unknown): string | null => {
  const text = typeof value === 'number' ? String(value) : value
  return typeof text === 'string' && text.length <= MAX_ORDER_ID_LENGTH && PRINTABLE_TEXT.test(text)
    ? text
    : null
}
/** PostgreSQL refuses U+0000, and the ids of orders in requests have no other control characters. */
const PRINTABLE_TEXT = /^\P{Cc}+$/u

/** `a * b / divisor`, rounded down, and exact where the product is no safe integer. At most 2^53 - 1. */
const productBy = (a: number, b: number, divisor: number): number => {
  const result = (BigInt(a) * BigInt(b)) / BigInt(divisor)
  return Number(result < MAX_SAFE ? result : MAX_SAFE)
}
const MAX_SAFE = BigInt(Number.MAX_SAFE_INTEGER)

/** The time some months later, in UTC. The last day of a month where it has no such day. */
export const monthsAfter = (time: Date, months: number): Date => {
  const later = new Date(time)
  later.setUTCMonth(later.getUTCMonth() + months)
  if (later.getUTCDate() !== time.getUTCDate()) later.setUTCDate(0)
  return later
}

/** When points that come at a time expire; null: never. */
export const expiryOf = (
  { expiryMonths }: Pick<LoyaltyProgramme, 'expiryMonths'>,
  time: Date,
): Date | null => (expiryMonths === null ? null : monthsAfter(time, expiryMonths))

/**
 * What is spent of `available` points on a `due` amount of minor units: the fewest points that are worth as much. The amount is
 * rounded down, so that points are never worth more than their rate.
 */
export const spendPoints = (
  { points, amount }: SpendingRate,
  available: number,
  due: number,
): { points: number; amount: number } => {
  const worth = Math.min(productBy(available, amount, points), Math.max(0, due))
  if (worth === 0) return { points: 0, amount: 0 }
  // Rounded up: fewer points are worth less.
  const needed = (BigInt(worth) * BigInt(points) + BigInt(amount) - 1n) / BigInt(amount)
  return { points: Number(needed), amount: worth }
}

/** The highest tier of a person who has earned `earned` points: the last one in the list that they reach. */
export const tierOf = (
  tiers: readonly Tier[],
  earned: number,
  isInSegment: (key: string) => boolean,
): Tier | undefined =>
  tiers.findLast(({ points, segment }) =>
    segment === undefined ? earned >= (points ?? 0) : isInSegment(segment),
  )

/** A lot of points that came together. */
export type Lot = { id: string; accountId: string; points: number }

/** Takes points from lots in their order. The parts amount to `points`, or to all that there are. */
export const takeFromLots = (lots: readonly Lot[], points: number): Lot[] => {
  let left = points
  return lots.flatMap((lot) => {
    const taken = Math.min(lot.points, left)
    left -= taken
    return taken > 0 ? [{ ...lot, points: taken }] : []
  })
}

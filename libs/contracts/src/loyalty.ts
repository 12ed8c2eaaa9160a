/** The most points that one event earns, a rule gives and a request moves. */
export const MAX_POINTS = 1_000_000_000

/** A programme that is paused neither earns nor spends points. */
export const programmeStatuses = ['active', 'paused', 'archived'] as const
export type ProgrammeStatus = (typeof programmeStatuses)[number]

/** Why points are not spent. */
export const pointRefusals = [
  'not_spendable',
  'insufficient_points',
  'minimum_points',
  'order_reversed',
  'currency_mismatch',
  'secret_key_required',
] as const
export type PointRefusal = (typeof pointRefusals)[number]

/** Why points move. */
export const pointMovementKinds = ['earned', 'adjusted', 'spent', 'expired', 'reversed'] as const
export type PointMovementKind = (typeof pointMovementKinds)[number]

/** What a conversion by a selector earns: `points`, or `points` for each `perAmount` minor units of a currency. */
export type EarningRule = {
  selectorId: string
  points: number
  perAmount?: number
  currency?: string
  /** Where the id of the order is in the properties of the event. */
  orderProperty?: string
}

/** What points are worth: `points` of them `amount` minor units of a currency. Fewer than `minimum` are not spent. */
export type SpendingRate = { points: number; amount: number; currency: string; minimum?: number }

/** A tier: for people who have earned `points`, or who are in a segment. */
export type Tier = { key: string; name: string; points?: number; segment?: string }

/** The terms of a programme, as the configuration of a project has them. */
export type LoyaltyProgramme = {
  id: string
  key: string
  status: ProgrammeStatus
  rules: readonly EarningRule[]
  /** After how many months points expire; null: never. */
  expiryMonths: number | null
  spending: SpendingRate | null
  tiers: readonly Tier[]
}

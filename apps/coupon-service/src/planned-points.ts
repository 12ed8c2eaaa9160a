import type { LoyaltyProgramme, PointRefusal } from '@waymark/contracts/loyalty'

/** The points that a request spends: at most `wanted`, or as many as are useful. */
export type WantedPoints = { programme: string; wanted: number | null }

/** What a request spends of a programme, and its rate. */
export type PlannedPoints = {
  programme: LoyaltyProgramme
  rate: NonNullable<LoyaltyProgramme['spending']>
  wanted: number | null
}

/** The programme of a request and its rate, or why no points of it are spent. Undefined when there is no such programme. */
export const planPoints = (
  programmes: readonly LoyaltyProgramme[],
  { programme: key, wanted }: WantedPoints,
  currency: string | null,
): PlannedPoints | { refusal: PointRefusal } | undefined => {
  const programme = programmes.find((one) => one.key === key)
  if (!programme) return undefined
  const { spending: rate, status } = programme
  if (rate === null || status !== 'active') return { refusal: 'not_spendable' }
  return rate.currency === currency ? { programme, rate, wanted } : { refusal: 'currency_mismatch' }
}

import type { LoyaltyProgramme } from '../api/types.ts'
import { formatCount, formatNumber } from '../ui/format.tsx'
import { formatMoney } from '../ui/money.ts'

type Rule = LoyaltyProgramme['rules'][number]

const formatPoints = (points: number): string => formatCount(points, 'point')

/** What a rule gives for its event. */
export const wordsOfRule = ({ points, perAmount, currency }: Rule): string =>
  perAmount === undefined
    ? formatPoints(points)
    : `${formatPoints(points)} per ${formatMoney(perAmount, currency ?? '')}`

/** What points are worth. */
export const wordsOfSpending = (spending: LoyaltyProgramme['spending']): string =>
  spending === null
    ? 'not spent on orders'
    : `${formatPoints(spending.points)} for ${formatMoney(spending.amount, spending.currency)}` +
      (spending.minimum === undefined ? '' : `, from ${formatNumber(spending.minimum)} on`)

/** When points expire. */
export const wordsOfExpiry = (months: number | null): string =>
  months === null ? 'never' : `after ${formatCount(months, 'month')}`

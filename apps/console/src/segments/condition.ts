import type { Segment } from '../api/types.ts'
import type { Filter } from '../explore/query-types.ts'
import { OPERATORS, valueText } from '../explore/query-url.ts'

/** The condition of a segment. */
export type Condition = Segment['condition']
/** A number of events in a condition. */
export type Count = NonNullable<Condition['counts']>[number]

/** The limits of the API. */
export const MAX_COUNTS = 10
export const MAX_DAYS = 90
export const MAX_COUNT = 1_000_000

/** The comparisons of counts, in words. */
export const COUNT_OPERATORS: Readonly<Record<Count['op'], string>> = {
  gte: 'at least',
  gt: 'more than',
  eq: 'exactly',
  lt: 'less than',
  lte: 'at most',
}

/** The condition as sent, or undefined while a part of it is missing. */
export const completeCondition = ({ match, filters = [], counts = [] }: Condition): Condition | undefined => {
  const isComplete = (filter: Filter) =>
    filter.property !== '' && (hasValue(filter.value) || filter.op === 'exists' || filter.op === 'not_exists')
  const fits = ({ eventName, days, value }: Count) =>
    eventName !== '' && isWithin(days, 1, MAX_DAYS) && isWithin(value, 0, MAX_COUNT)
  const isUsable = filters.length + counts.length > 0 && filters.every(isComplete) && counts.every(fits)
  return isUsable ? { match: match ?? 'all', filters, counts } : undefined
}

const hasValue = (value: Filter['value']): boolean =>
  value !== undefined && !(Array.isArray(value) && value.length === 0)

const isWithin = (number: number, least: number, most: number): boolean =>
  Number.isInteger(number) && number >= least && number <= most

/** Each filter and count in words. */
export const wordsOf = ({ filters = [], counts = [] }: Condition): string[] => [
  ...filters.map(({ property, op, value }) =>
    [property, OPERATORS[op], valueText(value, [])].join(' ').trim(),
  ),
  ...counts.map(
    ({ eventName, days, op, value }) =>
      `${eventName} ${COUNT_OPERATORS[op]} ${value === 1 ? 'once' : `${value} times`} ${days === 1 ? 'today' : `in ${days} days`}`,
  ),
]

import type { TrendRow } from '@waymark/event-store'

type Key = Pick<TrendRow, 'group' | 'other' | 'currency'>
type Numbers = { total: number; values: number[] }

/** The numbers of one group: a total for the whole range and a value for every bucket. */
type GroupNumbers = Key & Numbers & { previousTotal?: number; previousValues?: number[] }

type Options = {
  buckets: number
  /** The rows of the previous period, for a comparison. */
  previous?: readonly TrendRow[] | undefined
  /** Whether an empty result becomes one group with zeros. */
  fillEmpty: boolean
}

/** Groups the rows of a series: the greatest total first, the rows of all other groups last. */
export const groupRows = (
  rows: readonly TrendRow[],
  { buckets, previous, fillEmpty }: Options,
): GroupNumbers[] => {
  const zeros = (): Numbers => ({ total: 0, values: new Array<number>(buckets).fill(0) })
  const numbersByKey = (of: readonly TrendRow[]): Map<string, Key & Numbers> => {
    const found = new Map<string, Key & Numbers>()
    for (const { bucket, group, other, currency, value } of of) {
      const key = JSON.stringify([group, other, currency])
      const numbers = found.get(key) ?? { group, other, currency, ...zeros() }
      found.set(key, numbers)
      if (bucket === null) numbers.total = value
      else numbers.values[bucket] = value
    }
    return found
  }
  const current = numbersByKey(rows)
  const earlier = previous && numbersByKey(previous)
  const keys = new Map<string, Key>([...(earlier ?? []), ...current])
  if (keys.size === 0 && fillEmpty) keys.set('', { group: null, other: false, currency: null })
  return [...keys]
    .map(([key, { group, other, currency }]): GroupNumbers => {
      const before = earlier && (earlier.get(key) ?? zeros())
      return {
        group,
        other,
        currency,
        ...(current.get(key) ?? zeros()),
        ...(before && { previousTotal: before.total, previousValues: before.values }),
      }
    })
    .sort((a, b) => Number(a.other) - Number(b.other) || b.total - a.total || compare(a.group, b.group))
}

const compare = (a: string | null, b: string | null): number => {
  if (a === null || b === null) return Number(a === null) - Number(b === null)
  return a < b ? -1 : Number(a > b)
}

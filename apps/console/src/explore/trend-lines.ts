import { formatNumber } from '../ui/format.tsx'
import { formatMoney } from '../ui/money.ts'
import type { Filter, Queries, Results, TrendSeries } from './query-types.ts'
import { METRICS, needsProperty } from './query-url.ts'

type Trends = Results['trends']

/** A line of a trend chart. */
export type TrendLine = {
  /** Unique among the lines. */
  label: string
  total: number
  values: readonly number[]
  previousTotal: number | undefined
  previousValues: readonly number[] | undefined
  /** The index of its series in the query. */
  series: number
  group: string | null
  other: boolean
  currency: string | null
  format: (value: number) => string
}

/** The label of a series. */
const seriesName = ({ eventName, metric, property }: TrendSeries): string => {
  const event = eventName ?? 'all events'
  if (metric === 'events') return eventName ?? 'All events'
  if (needsProperty(metric)) return `${METRICS[metric]} ${property ?? '…'} of ${event}`
  return `${METRICS[metric]} of ${event}`
}

/** The label of a group. */
export const groupName = (group: string | null, other: boolean): string =>
  group === null ? (other ? 'all others' : 'not set') : group === '' ? 'empty text' : group

const two = new Intl.NumberFormat(undefined, { maximumFractionDigits: 2 })

/** The lines of a result, in order. */
export const trendLines = (query: Queries['trends'], data: Trends): TrendLine[] => {
  const isGrouped = query.breakdown !== undefined
  const used = new Map<string, number>()
  return data.series.map((found) => {
    const { series, group, other, currency, total, values, previousTotal, previousValues, metric } = found
    const requested = query.series[series]
    const parts = [
      ...(query.series.length > 1 || !isGrouped ? [requested ? seriesName(requested) : metric] : []),
      ...(isGrouped ? [groupName(group, other)] : []),
      ...(currency === null ? [] : [currency]),
    ]
    const name = parts.join(' · ')
    const count = (used.get(name) ?? 0) + 1
    used.set(name, count)
    return {
      label: count === 1 ? name : `${name} (${count})`,
      total,
      values,
      previousTotal,
      previousValues,
      series,
      group,
      other,
      currency,
      format: (value) =>
        currency === null
          ? Number.isInteger(value)
            ? formatNumber(value)
            : two.format(value)
          : formatMoney(value, currency),
    }
  })
}

/** The start and end of a bucket, limited to the range. */
export const bucketRange = (
  buckets: readonly string[],
  index: number,
  range: { from: string; to: string },
): { from: string; to: string } => {
  const from = buckets[index] ?? range.from
  return {
    from: Date.parse(from) < Date.parse(range.from) ? range.from : from,
    to: buckets[index + 1] ?? range.to,
  }
}

/**
 * The filters of a line's events, without the event name.
 * `typed` restores the type of a group, because results contain text.
 */
export const lineFilters = (
  query: Queries['trends'],
  lines: readonly TrendLine[],
  line: TrendLine,
  typed: (text: string) => string | number | boolean,
): Filter[] => {
  const own = query.series[line.series]?.filters ?? []
  const bots: Filter[] = query.includeBots ? [] : [{ property: 'context.bot', op: 'neq', value: true }]
  const { breakdown } = query
  if (breakdown === undefined) return [...own, ...bots]
  if (line.group !== null)
    return [...own, ...bots, { property: breakdown, op: 'eq', value: typed(line.group) }]
  if (!line.other) return [...own, ...bots, { property: breakdown, op: 'not_exists' }]
  const shown = lines.flatMap(({ series, group }) =>
    series === line.series && group !== null ? [typed(group)] : [],
  )
  return [
    ...own,
    ...bots,
    { property: breakdown, op: 'exists' },
    ...(shown.length > 0 ? [{ property: breakdown, op: 'not_in' as const, value: shown }] : []),
  ]
}

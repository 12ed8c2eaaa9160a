import type {
  Filter,
  FilterValue,
  FunnelStep,
  Interval,
  Kind,
  Metric,
  Queries,
  TrendSeries,
} from './query-types.ts'
import { formatRange, parseRange, type Range, readerZone, usualInterval } from './time-range.ts'

/** The parameters of a page. */
type Search = Readonly<Partial<Record<string, string>>>

/** The metrics of trends. */
export const METRICS: Readonly<Record<Metric, string>> = {
  events: 'Events',
  people: 'People',
  sessions: 'Sessions',
  conversions: 'Conversions',
  revenue: 'Revenue',
  sum: 'Sum of',
  avg: 'Average of',
  min: 'Minimum of',
  max: 'Maximum of',
  p50: 'Median of',
  p90: '90th percentile of',
  p99: '99th percentile of',
}
/** Whether a metric is of a number property. */
export const needsProperty = (metric: Metric): boolean =>
  !['events', 'people', 'sessions', 'conversions', 'revenue'].includes(metric)

export const OPERATORS: Readonly<Record<Filter['op'], string>> = {
  eq: 'is',
  neq: 'is not',
  in: 'is one of',
  not_in: 'is none of',
  gt: 'is more than',
  gte: 'is at least',
  lt: 'is less than',
  lte: 'is at most',
  contains: 'contains',
  starts_with: 'begins with',
  exists: 'is set',
  not_exists: 'is not set',
}

export const INTERVALS: Readonly<Record<Interval, string>> = {
  hour: 'Hour',
  day: 'Day',
  week: 'Week',
  month: 'Month',
}

/** Intervals of cohorts. */
export const COHORT_INTERVALS = { day: INTERVALS.day, week: INTERVALS.week, month: INTERVALS.month }

/** The parameters of each kind, which are the fields of its query. */
const FIELDS = {
  trends: ['series', 'interval', 'timeZone', 'breakdown', 'limit', 'compareTo', 'includeBots'],
  funnel: ['steps', 'windowSeconds', 'breakdown', 'limit', 'order'],
  retention: ['startEvent', 'returnEvent', 'interval', 'periods', 'timeZone'],
  paths: ['startEvent', 'endEvent', 'depth', 'limit'],
} as const satisfies { [K in Kind]: readonly (keyof Queries[K])[] }

const DAY_S = 86_400
/** Default number of groups. */
const GROUPS = 5

/** An empty query. */
const emptyQuery: { readonly [K in Kind]: (range: Range) => Queries[K] } = {
  trends: (range) => ({ series: [{ metric: 'events' }], interval: usualInterval(range) }),
  funnel: () => ({ steps: [{ eventName: '' }, { eventName: '' }], windowSeconds: 7 * DAY_S }),
  retention: () => ({ startEvent: '', returnEvent: '', interval: 'day', periods: 7 }),
  paths: () => ({ depth: 4, limit: 50 }),
}

const jsonOrUndefined = (text: string | undefined): unknown => {
  try {
    return text === undefined ? undefined : JSON.parse(text)
  } catch {
    return undefined
  }
}

const isObject = (value: unknown): value is Record<string, unknown> =>
  typeof value === 'object' && value !== null && !Array.isArray(value)
const isScalar = (value: unknown): value is string | number | boolean =>
  ['string', 'number', 'boolean'].includes(typeof value)
const isKey = <K extends string>(value: unknown, keys: Readonly<Record<K, unknown>>): value is K =>
  typeof value === 'string' && Object.hasOwn(keys, value)

const readList = <T>(value: unknown, read: (one: unknown) => T | undefined): T[] =>
  Array.isArray(value) ? value.map(read).filter((one) => one !== undefined) : []

const readFilter = (value: unknown): Filter | undefined => {
  if (!isObject(value) || typeof value.property !== 'string' || !isKey(value.op, OPERATORS)) return undefined
  const { property, op } = value
  const compared = Array.isArray(value.value) ? value.value.filter(isScalar) : value.value
  const isUsable = isScalar(compared) || Array.isArray(compared)
  return { property, op, ...(isUsable && { value: compared }) }
}

const readFilters = (value: unknown): { filters?: Filter[] } => {
  const filters = readList(value, readFilter)
  return filters.length === 0 ? {} : { filters }
}

const readSeries = (value: unknown): TrendSeries | undefined => {
  if (!isObject(value) || !isKey(value.metric, METRICS)) return undefined
  const { eventName, metric, property, filters } = value
  return {
    ...(typeof eventName === 'string' && eventName !== '' && { eventName }),
    metric,
    ...(typeof property === 'string' && needsProperty(metric) && { property }),
    ...readFilters(filters),
  }
}

const readStep = (value: unknown): FunnelStep | undefined => {
  if (!isObject(value) || typeof value.eventName !== 'string') return undefined
  return { eventName: value.eventName, ...readFilters(value.filters) }
}

const readInteger = (text: string | undefined, low: number, high: number): number | undefined => {
  const value = Number(text || Number.NaN)
  return Number.isInteger(value) && value >= low && value <= high ? value : undefined
}

const readZone = (name: string | undefined): string | undefined => {
  try {
    new Intl.DateTimeFormat('en', { timeZone: name })
    return name
  } catch {
    return undefined
  }
}

const given = <T extends object>(fields: T): { [F in keyof T]?: NonNullable<T[F]> } =>
  Object.fromEntries(Object.entries(fields).filter(([, value]) => value != null && value !== '')) as never

const readers: { readonly [K in Kind]: (search: Search) => Partial<Queries[K]> } = {
  trends: (search) => {
    const series = readList(jsonOrUndefined(search.series), readSeries)
    return given({
      series: series.length === 0 ? undefined : series,
      interval: isKey(search.interval, INTERVALS) ? search.interval : undefined,
      timeZone: readZone(search.timeZone),
      breakdown: search.breakdown,
      limit: readInteger(search.limit, 1, 100),
      compareTo: search.compareTo === 'previous_period' ? ('previous_period' as const) : undefined,
      includeBots: search.includeBots === 'true' || undefined,
    })
  },
  funnel: (search) => {
    const steps = readList(jsonOrUndefined(search.steps), readStep)
    return given({
      steps: steps.length === 0 ? undefined : steps,
      windowSeconds: readInteger(search.windowSeconds, 1, 366 * DAY_S),
      breakdown: search.breakdown,
      limit: readInteger(search.limit, 1, 100),
      order: search.order === 'any' ? ('any' as const) : undefined,
    })
  },
  retention: ({ startEvent, returnEvent, interval, periods, timeZone }) =>
    given({
      startEvent,
      returnEvent,
      interval: isKey(interval, COHORT_INTERVALS) ? interval : undefined,
      periods: readInteger(periods, 1, 100),
      timeZone: readZone(timeZone),
    }),
  paths: ({ startEvent, endEvent, depth, limit }) =>
    given({
      startEvent,
      endEvent,
      depth: readInteger(depth, 2, 6),
      limit: readInteger(limit, 1, 500),
    }),
}

/** Parses the parameters of a page. Missing or invalid ones get their defaults. */
export const parseQuery = <K extends Kind>(kind: K, search: Search, range: Range): Queries[K] => ({
  ...emptyQuery[kind](range),
  ...readers[kind](search),
})

/** The inverse of `parseQuery`; parameters without a value are empty. */
export const formatQuery = <K extends Kind>(kind: K, query: Queries[K]): Record<string, string> =>
  Object.fromEntries(
    FIELDS[kind].map((field) => {
      const value = (query as Record<string, unknown>)[field]
      if (value === undefined) return [field, '']
      return [field, typeof value === 'string' ? value : JSON.stringify(value)]
    }),
  )

/** Whether a filter has a property and, if needed, a value. */
export const isComplete = ({ property, op, value }: Filter): boolean => {
  if (property === '') return false
  if (op === 'exists' || op === 'not_exists') return true
  return Array.isArray(value) ? value.length > 0 : value !== undefined && value !== ''
}

const withUsableFilters = <T extends { filters?: Filter[] }>({ filters = [], ...rest }: T): T => {
  const usable = filters.filter(isComplete)
  return { ...rest, ...(usable.length > 0 && { filters: usable }) } as T
}

/** The valid part of a query that is being edited; undefined while it is incomplete. */
const validQueries: { readonly [K in Kind]: (query: Queries[K]) => Queries[K] | undefined } = {
  trends: (query) => {
    const series = query.series.filter(({ metric, property }) => !needsProperty(metric) || property)
    if (series.length === 0) return undefined
    const groups = query.breakdown === undefined ? {} : { limit: query.limit ?? GROUPS }
    return { timeZone: readerZone(), ...query, ...groups, series: series.map(withUsableFilters) }
  },
  funnel: (query) => {
    const steps = query.steps.filter(({ eventName }) => eventName !== '').map(withUsableFilters)
    return steps.length < 2 ? undefined : { ...query, steps }
  },
  retention: (query) =>
    query.startEvent === '' || query.returnEvent === '' ? undefined : { timeZone: readerZone(), ...query },
  paths: (query) => query,
}

export const validQueryOf = <K extends Kind>(kind: K, query: Queries[K]): Queries[K] | undefined =>
  validQueries[kind](query)

/** A query as stored in an insight. A relative range is omitted, so that the reader selects it. */
export const toSaved = <K extends Kind>(
  kind: K,
  query: Queries[K],
  range: Range,
): Record<string, unknown> => ({
  ...(validQueryOf(kind, query) as Record<string, unknown> | undefined),
  ...('preset' in range ? {} : range),
})

/** The page parameters of a saved query. */
export const searchOfSaved = (insight: {
  id?: string
  kind: Kind
  query: unknown
}): Record<string, string> => {
  const { query, kind } = insight
  const saved = isObject(query) ? query : {}
  const texts = given(
    Object.fromEntries(
      [...FIELDS[kind], 'from', 'to'].map((field) => {
        const value = saved[field]
        return [field, typeof value === 'string' ? value : value === undefined ? '' : JSON.stringify(value)]
      }),
    ),
  ) as Record<string, string>
  return { ...texts, ...(insight.id !== undefined && { insight: insight.id }) }
}

/** The query and the range of an insight; the range is undefined if the reader selects it. */
export const readSaved = <K extends Kind>(
  kind: K,
  query: unknown,
): { query: Queries[K]; range: Range | undefined } => {
  const search = searchOfSaved({ kind, query })
  const range = parseRange(search)
  return { query: parseQuery(kind, search, range ?? { preset: '30d' }), range }
}

/** All page parameters of a query and its range. */
export const searchOf = <K extends Kind>(
  kind: K,
  query: Queries[K],
  range: Range,
): Record<string, string> => ({
  ...formatQuery(kind, query),
  ...formatRange(range),
})

/** Parses the value of a filter. Quoted text stays a string. */
export const typedValue = (text: string, types: readonly string[]): string | number | boolean => {
  const entered = text.trim()
  const quoted = /^"(.*)"$/s.exec(entered)
  if (quoted) return quoted[1] ?? ''
  const mayBe = (type: string) => types.length === 0 || types.includes(type)
  if (mayBe('boolean') && (entered === 'true' || entered === 'false')) return entered === 'true'
  if (mayBe('number') && entered !== '' && Number.isFinite(Number(entered))) return Number(entered)
  return entered
}

/** The inverse of `typedValue`. */
export const valueText = (value: FilterValue, types: readonly string[]): string => {
  if (value === undefined) return ''
  if (Array.isArray(value)) return value.map((one) => valueText(one, types)).join(', ')
  if (typeof value !== 'string') return String(value)
  return typedValue(value, types) === value ? value : `"${value}"`
}

/** Parses the value of a filter: a list for list operators. */
export const filterValue = (op: Filter['op'], text: string, types: readonly string[]): FilterValue => {
  if (op === 'exists' || op === 'not_exists' || text.trim() === '') return undefined
  if (op === 'contains' || op === 'starts_with') return text.trim()
  if (op !== 'in' && op !== 'not_in') return typedValue(text, types)
  return text
    .split(',')
    .map((one) => one.trim())
    .filter((one) => one !== '')
    .map((one) => typedValue(one, types))
}

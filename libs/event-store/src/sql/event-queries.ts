import { STORED_COLUMNS, type StoredRow, storedEventOf } from '../rows.ts'
import type {
  EventPlace,
  EventsPortion,
  EventsQuery,
  PlacedEvent,
  PlacesPortion,
  ValueRow,
  ValuesQuery,
} from '../store.ts'
import { createConditions, needsTraits } from './condition-queries.ts'
import type { Database, Dialect, Parameters } from './dialect.ts'
import { END, personsOf } from './table-queries.ts'

/** The range of receipts of the first statement, in ms, and how much wider each further one may be. */
const FIRST_RANGE_MS = 1_000
const MAX_GROWTH = 16
/** How long a statement should take at most, in ms: the range of the next one depends on it. */
const STATEMENT_MS = 1_000
/** Without any event in a range of this length, in ms, the newest receipt of the project is looked up. */
const IDLE_MS = 60_000
/** No event was received before this time, in ms. Events that are to be completed have none. */
const EARLIEST_RECEIPT = 1
/** The first time that ClickHouse can compare, in ms. */
const START = Date.UTC(1900)

/** Reads events; see `EventQueries`. */
export async function* readEvents(
  database: Database,
  query: EventsQuery,
): AsyncGenerator<EventsPortion, void, undefined> {
  for await (const { rows, next } of readRanges<StoredRow>(database, query, () =>
    storedColumns(database.dialect),
  ))
    yield { events: rows.map(storedEventOf), next }
}

/** Reads the places of events; see `EventQueries`. */
export async function* readPlaces(
  database: Database,
  query: EventsQuery,
): AsyncGenerator<PlacesPortion, void, undefined> {
  for await (const { rows, next } of readRanges<PlaceRow>(database, query, () => []))
    yield { places: rows.map(placeOf), next }
}

/** Reads the values of a property; see `EventQueries`. */
export async function* readValues(
  database: Database,
  { property, ...query }: ValuesQuery,
): AsyncGenerator<ValueRow[], void, undefined> {
  const { dialect } = database
  const columns = (parameters: Parameters): string[] => [
    `${dialect.asText('e.profile_id')} AS profile_id`,
    `${dialect.epochMs('e."time"')} AS time_ms`,
    `${property ? createConditions(dialect, parameters).numberOf(property) : '1'} AS value`,
  ]
  type Row = PlaceRow & Pick<StoredRow, 'profile_id' | 'time_ms'> & { value: number | null }
  for await (const { rows } of readRanges<Row>(database, query, columns))
    yield rows.flatMap(({ profile_id, time_ms, value }) =>
      profile_id === null ? [] : { profileId: profile_id, at: Number(time_ms), value },
    )
}

type PlaceRow = Pick<StoredRow, 'event_key' | 'received_ms'>

const placeOf = (row: PlaceRow): PlacedEvent => ({
  receivedAt: Number(row.received_ms),
  eventKey: row.event_key,
})

const storedColumns = (dialect: Dialect): string[] => [
  `${dialect.asText('e.profile_id')} AS profile_id`,
  `${dialect.epochMs('e."time"')} AS time_ms`,
  ...STORED_COLUMNS.map((column) => `e.${column} AS ${column}`),
  `${dialect.asText('e.properties')} AS properties`,
  'e.details AS details',
]

/**
 * Reads by ranges of receipt, because both stores skip the parts of a table that have no receipt in a range, but sort by
 * other columns.
 */
async function* readRanges<Row extends PlaceRow>(
  database: Database,
  query: EventsQuery,
  columns: Columns,
): AsyncGenerator<{ rows: Row[]; next: EventPlace | undefined }, void, undefined> {
  const earliest = Math.max(EARLIEST_RECEIPT, query.receivedFrom ?? 0)
  let below: EventPlace | undefined = query.below
  let mayBeIdle = isUnfiltered(query)
  const { firstRangeMs = FIRST_RANGE_MS } = query
  // Doubled by each statement, so that a busy server, whose statements are slow with any range, comes to an end.
  let leastRange = FIRST_RANGE_MS
  // Events that are selected by their keys are few.
  for (let range = query.eventKeys === undefined ? firstRangeMs : Number.POSITIVE_INFINITY; ; ) {
    const end = Math.min(below?.receivedAt ?? Date.now(), END)
    const from = Math.max(earliest, end - range)
    const limit = query.portion()
    const startedAt = performance.now()
    const rows = await readRange<Row>(database, query, columns, { from, below, limit })
    const growth = growthAfter(performance.now() - startedAt)
    const last = rows.at(-1)
    if (last && rows.length === limit) {
      below = placeOf(last)
      // As dense as this portion, or a wide range would be sorted again for each portion of it.
      range = Math.min(range, Math.max(FIRST_RANGE_MS, 2 * (end - below.receivedAt)))
    } else {
      below = from > earliest ? { receivedAt: from } : undefined
      leastRange *= 2
      range = Math.max(leastRange, range * (last ? Math.min(growth, Math.ceil(limit / rows.length)) : growth))
      mayBeIdle &&= last === undefined
      if (mayBeIdle && below && range >= IDLE_MS) {
        mayBeIdle = false
        const newest = await findNewestReceipt(database, query.projectId, from)
        if (newest === undefined || newest < earliest) below = undefined
        else if (newest < from - range) [below, range] = [{ receivedAt: newest + 1 }, FIRST_RANGE_MS]
      }
    }
    yield { rows, next: below }
    if (below === undefined) return
  }
}

/** Whether a range without results has no events of the project. */
const isUnfiltered = (query: EventsQuery): boolean =>
  [
    query.eventName,
    query.visitorId,
    query.userId,
    query.profileIds,
    query.eventKeys,
    query.from,
    query.to,
  ].every((condition) => condition === undefined) && (query.filters ?? []).length === 0

/** How much wider the next range is after a statement that took `ms`. */
const growthAfter = (ms: number): number =>
  ms > 2 * STATEMENT_MS ? 1 / 2 : Math.min(MAX_GROWTH, Math.max(1, STATEMENT_MS / ms))

/** When the last event of a project before a time was received, in ms. */
const findNewestReceipt = async (
  { dialect, query: run }: Database,
  projectId: string,
  before: number,
): Promise<number | undefined> => {
  const parameters = dialect.parameters()
  const [row] = await run<Pick<StoredRow, 'received_ms'>>(
    projectId,
    `SELECT ${dialect.epochMs('e.received_at')} AS received_ms FROM ${dialect.events}
     WHERE e.project_id = ${parameters.projectId(projectId)} AND e.received_at >= ${parameters.time(EARLIEST_RECEIPT)}
       AND e.received_at < ${parameters.time(before)}
     ORDER BY e.received_at DESC LIMIT 1 ${dialect.ofAnyVersion}`,
    parameters.bindings,
    { lane: 'lists' },
  )
  return row && Number(row.received_ms)
}

/** What to select beside the place, as SQL. */
type Columns = (parameters: Parameters) => readonly string[]

type Range = {
  /** In ms. */
  from: number
  below: EventPlace | undefined
  limit: number
}

/** The last received events of a range. */
const readRange = <Row>(
  { dialect, query: run }: Database,
  query: EventsQuery,
  columns: Columns,
  { from, below, limit }: Range,
): Promise<Row[]> => {
  const parameters = dialect.parameters()
  const traits = needsTraits((query.filters ?? []).map(({ property }) => property))
  const project = parameters.projectId(query.projectId)
  const selected = [
    `${dialect.asText('e.event_key')} AS event_key`,
    `${dialect.epochMs('e.received_at')} AS received_ms`,
    ...columns(parameters),
  ]
  return run<Row>(
    query.projectId,
    `SELECT ${selected.join(', ')}
     FROM ${dialect.events} ${traits ? personsOf(dialect, query.projectId, parameters) : ''}
     WHERE e.project_id = ${project} AND NOT e.erased AND e.received_at >= ${parameters.time(from)}
       AND ${[...conditionsOf(dialect, query, parameters), ...placeBelow(dialect, below, parameters)].join(' AND ')}
     ORDER BY e.received_at DESC, ${dialect.sortable('e.event_key')} DESC LIMIT ${limit}`,
    parameters.bindings,
    { lane: 'lists' },
  )
}

const conditionsOf = (dialect: Dialect, query: EventsQuery, parameters: Parameters): string[] => {
  const conditions = [createConditions(dialect, parameters).allOf(query.filters ?? [])]
  const equal = (column: string, value: string | undefined): void => {
    if (value !== undefined) conditions.push(`e.${column} = ${parameters.text(value)}`)
  }
  equal('event_name', query.eventName)
  equal('visitor_id', query.visitorId)
  equal('user_id', query.userId)
  const isOneOf = (column: string, ids: readonly string[] | undefined): void => {
    if (ids === undefined) return
    const others = ids.map((id) => parameters.uuid(id))
    conditions.push(others.length === 0 ? 'false' : dialect.isOneOf(`e.${column}`, others))
  }
  isOneOf('event_key', query.eventKeys)
  isOneOf('profile_id', query.profileIds)
  if (query.from !== undefined) conditions.push(`e."time" >= ${parameters.time(storable(query.from))}`)
  if (query.to !== undefined) conditions.push(`e."time" < ${parameters.time(storable(query.to))}`)
  return conditions
}

/** A time that both stores can compare. No event has an earlier or a later one. */
const storable = (ms: number): number => Math.min(Math.max(ms, START), END)

const placeBelow = (dialect: Dialect, below: EventPlace | undefined, parameters: Parameters): string[] => {
  if (below === undefined) return []
  const time = parameters.time(storable(below.receivedAt))
  if (below.eventKey === undefined) return [`e.received_at < ${time}`]
  const key = dialect.sortable(parameters.uuid(below.eventKey))
  return [
    `e.received_at <= ${time}`,
    `(e.received_at < ${time} OR ${dialect.sortable('e.event_key')} < ${key})`,
  ]
}

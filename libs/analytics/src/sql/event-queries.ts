import { STORED_COLUMNS, type StoredRow, storedEventOf } from '../rows.ts'
import type { EventPlace, EventsPortion, EventsQuery } from '../store.ts'
import { createConditions, needsTraits } from './condition-queries.ts'
import type { Database, Dialect, Parameters } from './dialect.ts'
import { personsOf } from './table-queries.ts'

/** The range of receipts of the first statement, in ms, and how much wider each further one may be. */
const FIRST_RANGE_MS = 1_000
const MAX_GROWTH = 16
/** No event was received before this time, in ms. Events that are to be completed have none. */
const EARLIEST_RECEIPT = 1

/**
 * Reads events by ranges of receipt, because both stores skip the parts of a table that have no receipt in a range, but
 * sort by other columns.
 */
export async function* readEvents(
  database: Database,
  query: EventsQuery,
): AsyncGenerator<EventsPortion, void, undefined> {
  const earliest = Math.max(EARLIEST_RECEIPT, query.receivedFrom ?? 0)
  let below: EventPlace | undefined = query.below
  // An event that is selected by its key is in one range at most.
  for (let range = query.eventKey === undefined ? FIRST_RANGE_MS : Number.POSITIVE_INFINITY; ; ) {
    const end = below?.receivedAt ?? Date.now()
    const from = Math.max(earliest, end - range)
    const limit = query.portion()
    const rows = await readRange(database, query, { from, below, limit })
    const last = rows.at(-1)
    if (last && rows.length === limit) {
      const lastReceipt = Number(last.received_ms)
      below = { receivedAt: lastReceipt, eventKey: last.event_key }
      // As dense as this portion, or a wide range would be sorted again for each portion of it.
      range = Math.min(range, Math.max(FIRST_RANGE_MS, 2 * (end - lastReceipt)))
    } else {
      below = from > earliest ? { receivedAt: from } : undefined
      range *= last ? Math.min(MAX_GROWTH, Math.ceil(limit / rows.length)) : MAX_GROWTH
    }
    yield { events: rows.map(storedEventOf), next: below }
    if (below === undefined) return
  }
}

type Range = {
  /** In ms. */
  from: number
  below: EventPlace | undefined
  limit: number
}

/** The last received events of a range. */
const readRange = (
  { dialect, query: run }: Database,
  query: EventsQuery,
  { from, below, limit }: Range,
): Promise<StoredRow[]> => {
  const parameters = dialect.parameters()
  const columns = STORED_COLUMNS.map((column) => `e.${column} AS ${column}`)
  const traits = needsTraits((query.filters ?? []).map(({ property }) => property))
  const project = parameters.projectId(query.projectId)
  return run<StoredRow>(
    query.projectId,
    `SELECT ${dialect.asText('e.event_key')} AS event_key, ${dialect.asText('e.profile_id')} AS profile_id,
       ${dialect.epochMs('e.received_at')} AS received_ms, ${dialect.epochMs('e."time"')} AS time_ms,
       ${columns.join(', ')}, ${dialect.asText('e.properties')} AS properties, e.details AS details
     FROM ${dialect.events} ${traits ? personsOf(dialect, query.projectId, parameters) : ''}
     WHERE e.project_id = ${project} AND NOT e.erased AND e.received_at >= ${parameters.time(from)}
       AND ${[...conditionsOf(dialect, query, parameters), ...placeBelow(dialect, below, parameters)].join(' AND ')}
     ORDER BY e.received_at DESC, ${dialect.sortable('e.event_key')} DESC LIMIT ${limit}`,
    parameters.bindings,
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
  if (query.eventKey !== undefined) conditions.push(`e.event_key = ${parameters.uuid(query.eventKey)}`)
  if (query.profileIds)
    conditions.push(
      query.profileIds.length === 0
        ? 'false'
        : dialect.isOneOf(
            'e.profile_id',
            query.profileIds.map((id) => parameters.uuid(id)),
          ),
    )
  if (query.from !== undefined) conditions.push(`e."time" >= ${parameters.time(query.from)}`)
  if (query.to !== undefined) conditions.push(`e."time" < ${parameters.time(query.to)}`)
  return conditions
}

const placeBelow = (dialect: Dialect, below: EventPlace | undefined, parameters: Parameters): string[] => {
  if (below === undefined) return []
  const time = parameters.time(below.receivedAt)
  if (below.eventKey === undefined) return [`e.received_at < ${time}`]
  const key = dialect.sortable(parameters.uuid(below.eventKey))
  return [
    `e.received_at <= ${time}`,
    `(e.received_at < ${time} OR ${dialect.sortable('e.event_key')} < ${key})`,
  ]
}

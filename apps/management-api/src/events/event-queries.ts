import type { EventQuery } from '@waymark/contracts/http/events'
import type { EventFilter } from '@waymark/domain/analytics'
import { eventKeyOf } from '@waymark/domain/ingestion'
import { EVENT_COLUMNS, type EventRow } from '@waymark/pipeline'
import type { Pool } from 'pg'
import { createEventConditions } from './event-condition-queries.ts'

/** Events that one statement examines. */
const EVENTS_PER_STATEMENT = 5_000
const DAY_MS = 24 * 60 * 60 * 1000

/** Where a page ended. */
export type EventCursor = { receivedAt: Date; eventKey: string }

/** Which events to read, with the cursor decoded. All filters must match. */
export type PlacedEventQuery = Omit<EventQuery, 'cursor' | 'from' | 'to' | 'filters' | 'limit'> & {
  limit?: number
  from?: Date
  to?: Date
  filters: EventFilter[]
  after?: EventCursor
}

/** The conditions on columns of `ingest.events` that select a project's events, without the filters of a query. */
const rowConditions = (
  projectId: string,
  query: PlacedEventQuery,
  parameter: (value: unknown) => string,
): string[] => {
  const project = parameter(projectId)
  const conditions = [`project_id = ${project}`]
  if (query.eventId !== undefined) {
    const key = parameter(eventKeyOf(query.eventId))
    // The time of receipt selects the partition.
    conditions.push(
      `event_key = ${key}`,
      `received_at = (SELECT received_at FROM ingest.event_ids WHERE project_id = ${project} AND event_key = ${key})`,
    )
  }
  if (query.eventName !== undefined) conditions.push(`event_name = ${parameter(query.eventName)}`)
  if (query.visitorId !== undefined) conditions.push(`visitor_id = ${parameter(query.visitorId)}`)
  if (query.userId !== undefined) conditions.push(`user_id = ${parameter(query.userId)}`)
  // No event is stored with a time more than a day after its receipt.
  if (query.from) conditions.push(`received_at >= ${parameter(new Date(query.from.getTime() - DAY_MS))}`)
  return conditions
}

/** Where the newest `take` events of an unfiltered query are, the newest first. Their contents are not read. */
export const readNewestPlaces = async (
  pool: Pool,
  projectId: string,
  query: PlacedEventQuery,
  take: number,
): Promise<EventCursor[]> => {
  const values: unknown[] = []
  const parameter = (value: unknown): string => `$${values.push(value)}`
  const { rows } = await pool.query<EventCursor>(
    `SELECT received_at AS "receivedAt", event_key AS "eventKey" FROM ingest.events
     WHERE ${rowConditions(projectId, query, parameter).join(' AND ')}
     ORDER BY received_at DESC, event_key DESC LIMIT ${parameter(take)}`,
    values,
  )
  return rows
}

/** Events that are left out of a stream: how many, and when the first and the last of them were received. */
export type SkippedEvents = { dropped: number; from: Date; to: Date }

/** Events that are counted, at most. */
const MAX_SKIPPED = 100_000

/**
 * The events of an unfiltered query that are older than a place, and newer than the oldest of the known places without
 * being one of them. `known` are the newest places of an earlier time.
 */
export const skippedEvents = async (
  pool: Pool,
  projectId: string,
  query: PlacedEventQuery,
  { before, known }: { before: EventCursor; known: readonly EventCursor[] },
): Promise<SkippedEvents | undefined> => {
  const values: unknown[] = []
  const parameter = (value: unknown): string => `$${values.push(value)}`
  const conditions = rowConditions(projectId, query, parameter)
  conditions.push(
    `(received_at, event_key) < (${parameter(before.receivedAt)}, ${parameter(before.eventKey)})`,
  )
  const oldest = known.at(-1)
  if (oldest)
    conditions.push(
      `(received_at, event_key) > (${parameter(oldest.receivedAt)}, ${parameter(oldest.eventKey)})`,
    )
  const { rows } = await pool.query<{ dropped: number; from: Date | null; to: Date | null }>(
    `SELECT count(*)::int AS dropped, min(received_at) AS "from", max(received_at) AS "to"
     FROM (
       SELECT received_at, event_key FROM ingest.events WHERE ${conditions.join(' AND ')}
       ORDER BY received_at DESC, event_key DESC LIMIT ${MAX_SKIPPED}
     ) AS between_polls
     WHERE event_key <> ALL (${parameter(known.map(({ eventKey }) => eventKey))}::uuid[])`,
    values,
  )
  const [{ dropped, from, to } = { dropped: 0, from: null, to: null }] = rows
  return dropped > 0 && from && to ? { dropped, from, to } : undefined
}

/** Reads the events at these places, the oldest first. */
export const readEventsAt = async (
  pool: Pool,
  projectId: string,
  places: readonly EventCursor[],
): Promise<EventRow[]> => {
  const { rows } = await pool.query<EventRow>(
    `SELECT ${EVENT_COLUMNS} FROM ingest.events
     WHERE project_id = $1
       AND (received_at, event_key) IN (SELECT * FROM unnest($2::timestamptz[], $3::uuid[]))
     ORDER BY received_at, event_key`,
    [projectId, places.map(({ receivedAt }) => receivedAt), places.map(({ eventKey }) => eventKey)],
  )
  return rows
}

/**
 * Reads at most `take` matching events, and examines at most `EVENTS_PER_STATEMENT`. `next` is where to continue, undefined at
 * the end of the list.
 */
export const readEvents = async (
  pool: Pool,
  projectId: string,
  query: PlacedEventQuery,
  after: EventCursor | undefined,
  take: number,
): Promise<{ events: EventRow[]; next: EventCursor | undefined }> => {
  const values: unknown[] = []
  const parameter = (value: unknown): string => `$${values.push(value)}`
  const conditions = rowConditions(projectId, query, parameter)
  if (after)
    conditions.push(
      `(received_at, event_key) < (${parameter(after.receivedAt)}, ${parameter(after.eventKey)})`,
    )
  const list = (limit: number): string => `
    SELECT ${EVENT_COLUMNS} FROM ingest.events WHERE ${conditions.join(' AND ')}
    ORDER BY received_at DESC, event_key DESC LIMIT ${parameter(limit)}`
  const matches = createEventConditions(query, parameter)
  if (matches === undefined) {
    const { rows } = await pool.query<EventRow>(list(take), values)
    const last = rows.at(-1)
    return { events: rows, next: rows.length < take || !last ? undefined : cursorOf(last) }
  }
  const { rows } = await pool.query<EventRow & { examined: number; last_at: Date; last_key: string }>(
    `WITH listed AS MATERIALIZED (${list(EVENTS_PER_STATEMENT)}),
     last AS (
       SELECT (SELECT count(*)::int FROM listed) AS examined, received_at AS last_at, event_key AS last_key
       FROM listed ORDER BY received_at, event_key LIMIT 1
     ),
     found AS (
       SELECT e.* FROM listed AS e ${matches.joins} WHERE ${matches.condition}
       ORDER BY e.received_at DESC, e.event_key DESC LIMIT ${parameter(take)}
     )
     SELECT found.*, last.* FROM last LEFT JOIN found ON true
     ORDER BY found.received_at DESC, found.event_key DESC`,
    values,
  )
  const [first] = rows
  if (!first) return { events: [], next: undefined }
  const events = rows.filter(({ event_key }) => event_key !== null)
  const last = events.at(-1)
  if (last && events.length === take) return { events, next: cursorOf(last) }
  const next = { receivedAt: first.last_at, eventKey: first.last_key }
  return { events, next: first.examined < EVENTS_PER_STATEMENT ? undefined : next }
}

export const cursorOf = (row: EventRow): EventCursor => ({
  receivedAt: row.received_at,
  eventKey: row.event_key,
})

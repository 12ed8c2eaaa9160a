import type { EventView } from '@waymark/contracts'
import { eventKeyOf } from '@waymark/domain'
import type { Pool } from 'pg'
import type { EventCursor, PlacedEventQuery } from './event-query.ts'

export type EventPage = { events: EventView[]; next: EventCursor | undefined }

/** A stored event as it is read. */
export type EventRow = {
  event_key: string
  event_id: string
  event_name: string
  visitor_id: string | null
  user_id: string | null
  session_id: string | null
  properties: EventView['properties']
  client_timestamp: string | null
  received_at: Date
  timestamp: Date
  profile_id: string | null
  short_link_id: string | null
  short_link_code: string | null
  click_ids: EventView['clickIds']
  warnings: EventView['warnings']
  context: EventView['context']
}

export const EVENT_COLUMNS = `event_key, event_id, event_name, visitor_id, user_id, session_id, properties, client_timestamp, received_at,
  "timestamp", profile_id, short_link_id, short_link_code, click_ids, warnings, context`

/** Reads a project's events, the last received first, a page at a time. Events received meanwhile do not shift pages. */
export const createListEvents = (pool: Pool) => {
  return async (projectId: string, query: PlacedEventQuery): Promise<EventPage> => {
    const values: unknown[] = []
    const parameter = (value: unknown): string => `$${values.push(value)}`
    const project = parameter(projectId)
    const conditions = [`project_id = ${project}`]
    if (query.eventId !== undefined) {
      const key = parameter(eventKeyOf(query.eventId))
      // The time found by id tells PostgreSQL which month to look into.
      conditions.push(
        `event_key = ${key}`,
        `received_at = (SELECT received_at FROM ingest.event_ids WHERE project_id = ${project} AND event_key = ${key})`,
      )
    }
    if (query.eventName !== undefined) conditions.push(`event_name = ${parameter(query.eventName)}`)
    if (query.visitorId !== undefined) conditions.push(`visitor_id = ${parameter(query.visitorId)}`)
    if (query.userId !== undefined) conditions.push(`user_id = ${parameter(query.userId)}`)
    if (query.after) {
      const { receivedAt, eventKey } = query.after
      conditions.push(`(received_at, event_key) < (${parameter(receivedAt)}, ${parameter(eventKey)})`)
    }
    // One row more than asked for tells whether there is another page.
    const limit = parameter(query.limit + 1)
    const { rows } = await pool.query<EventRow>(
      `SELECT ${EVENT_COLUMNS} FROM ingest.events WHERE ${conditions.join(' AND ')}
       ORDER BY received_at DESC, event_key DESC LIMIT ${limit}`,
      values,
    )
    const page = rows.slice(0, query.limit)
    const last = page.at(-1)
    const next =
      rows.length > query.limit && last
        ? { receivedAt: last.received_at, eventKey: last.event_key }
        : undefined
    return { events: page.map(eventView), next }
  }
}

/** An event as the API shows it. */
export const eventView = (row: EventRow): EventView => ({
  eventId: row.event_id,
  eventName: row.event_name,
  visitorId: row.visitor_id,
  userId: row.user_id,
  sessionId: row.session_id,
  properties: row.properties,
  clientTimestamp: row.client_timestamp,
  receivedAt: row.received_at.toISOString(),
  timestamp: row.timestamp.toISOString(),
  profileId: row.profile_id,
  shortLinkId: row.short_link_id,
  shortLinkCode: row.short_link_code,
  clickIds: row.click_ids,
  warnings: row.warnings,
  context: row.context,
})

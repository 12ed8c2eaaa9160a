import type { EventView } from '@waymark/contracts/http/events'

/** A stored event. */
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

/** The columns of `EventRow`. */
export const EVENT_COLUMNS = `event_key, event_id, event_name, visitor_id, user_id, session_id, properties, client_timestamp, received_at,
  "timestamp", profile_id, short_link_id, short_link_code, click_ids, warnings, context`

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

/** The place of an event in the order of receipt. */
export type EventPlace = { at: Date; key: string }

/** The place before all events that were received at a time. A client can choose any key, also the least one. */
export const placeBefore = (at: Date): EventPlace => ({
  at: new Date(at.getTime() - 1),
  key: 'ffffffff-ffff-ffff-ffff-ffffffffffff',
})

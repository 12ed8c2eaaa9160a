import type { EventView } from '@waymark/contracts/http/events'

/** The columns of a file by their names, in their order. A `time` is RFC 3339, `json` any value. */
export type EventColumns<Row> = { readonly [Name in keyof Row & string]-?: 'text' | 'time' | 'json' }

/** The columns of an event. */
export const EVENT_COLUMNS: EventColumns<EventView> = {
  eventId: 'text',
  eventName: 'text',
  timestamp: 'time',
  receivedAt: 'time',
  // As the client sent it.
  clientTimestamp: 'text',
  visitorId: 'text',
  userId: 'text',
  sessionId: 'text',
  profileId: 'text',
  shortLinkId: 'text',
  shortLinkCode: 'text',
  properties: 'json',
  context: 'json',
  clickIds: 'json',
  warnings: 'json',
}

import type { EnrichedEvent } from '@waymark/contracts'
import { bulkColumns } from '@waymark/database'
import { eventKeyOf } from '@waymark/domain'
import type { ClientBase } from 'pg'

const columns = bulkColumns<EnrichedEvent>([
  { name: 'project_id', type: 'uuid', of: (event) => event.projectId },
  { name: 'event_key', type: 'uuid', of: (event) => eventKeyOf(event.eventId) },
  { name: 'received_at', type: 'timestamptz', of: (event) => event.receivedAt },
  { name: 'event_id', type: 'text', of: (event) => event.eventId },
  { name: 'event_name', type: 'text', of: (event) => event.eventName },
  { name: 'visitor_id', type: 'text', of: (event) => event.visitorId },
  { name: 'user_id', type: 'text', of: (event) => event.userId },
  { name: 'session_id', type: 'text', of: (event) => event.sessionId },
  { name: 'properties', type: 'jsonb', of: (event) => JSON.stringify(event.properties) },
  { name: 'client_timestamp', type: 'text', of: (event) => event.clientTimestamp },
  { name: 'timestamp', type: 'timestamptz', of: (event) => event.timestamp },
  { name: 'profile_id', type: 'uuid', of: (event) => event.profileId },
  { name: 'short_link_id', type: 'text', of: (event) => event.shortLinkId },
  { name: 'short_link_code', type: 'text', of: (event) => event.shortLinkCode },
  { name: 'click_ids', type: 'jsonb', of: (event) => JSON.stringify(event.clickIds) },
  { name: 'warnings', type: 'jsonb', of: (event) => JSON.stringify(event.warnings) },
  { name: 'context', type: 'jsonb', of: (event) => JSON.stringify(event.context) },
])

// A unique key on `events` would have to hold its partition column, so an id is claimed in a table of its own.
// Claims are made in key order, so that writers which share events wait for each other instead of deadlocking.
const STORE = `
  WITH incoming AS (
    SELECT DISTINCT ON (project_id, event_key) * FROM ${columns.unnest} WITH ORDINALITY AS given (${columns.names}, place)
    ORDER BY project_id, event_key, place
  ), claimed AS (
    INSERT INTO ingest.event_ids (project_id, event_key, received_at)
    SELECT project_id, event_key, received_at FROM incoming ORDER BY project_id, event_key
    ON CONFLICT DO NOTHING RETURNING project_id, event_key
  ), stored AS (
    INSERT INTO ingest.events (${columns.names})
    SELECT ${columns.names} FROM incoming JOIN claimed USING (project_id, event_key)
  )
  SELECT project_id, event_key FROM claimed`

/**
 * Stores events in the primary database, each once per (project, eventId) for ever, in one statement.
 * Whatever else follows from an event's first arrival belongs into the caller's transaction.
 * @returns the events that were new
 */
export const storeEvents = async (
  client: ClientBase,
  events: readonly EnrichedEvent[],
): Promise<EnrichedEvent[]> => {
  if (events.length === 0) return []
  const { rows } = await client.query<{ project_id: string; event_key: string }>({
    name: 'store-events',
    text: STORE,
    values: columns.values(events),
  })
  const claimed = new Set(rows.map(({ project_id, event_key }) => `${project_id}/${event_key}`))
  // Taking a claim off the list leaves repeats within the batch without one.
  return events.filter((event) => claimed.delete(`${event.projectId}/${eventKeyOf(event.eventId)}`))
}

import type { EnrichedEvent } from '@waymark/contracts/records/enriched-event'
import { type BulkColumn, bulkColumns, type Database } from '@waymark/database'
import { eventKeyOf } from '@waymark/domain/ingestion'

const EVENT: readonly BulkColumn<EnrichedEvent>[] = [
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
]
const columns = bulkColumns(EVENT)

/** Stores events and claims their ids as the version did that kept events in PostgreSQL. */
export const storeAsBefore = async (
  { pool }: Database,
  events: readonly EnrichedEvent[],
  { makeMonths = true } = {},
): Promise<void> => {
  const months = new Set(events.map(({ receivedAt }) => `${receivedAt.slice(0, 7)}-01`))
  if (makeMonths)
    for (const month of months) await pool.query('SELECT ingest.create_event_partition($1)', [month])
  await pool.query(
    `INSERT INTO ingest.event_ids (project_id, event_key, received_at)
     SELECT project_id, event_key, received_at FROM ${columns.unnest} AS given (${columns.names})`,
    columns.values(events),
  )
  await pool.query(
    `INSERT INTO ingest.events (${columns.names}) SELECT * FROM ${columns.unnest}`,
    columns.values(events),
  )
}

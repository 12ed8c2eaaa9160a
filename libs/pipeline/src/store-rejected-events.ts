import type { RejectedEvent } from '@waymark/contracts'
import { bulkColumns } from '@waymark/database'
import type { ClientBase, Pool } from 'pg'

const columns = bulkColumns<RejectedEvent>([
  { name: 'id', type: 'uuid', of: (rejected) => rejected.id },
  { name: 'project_id', type: 'uuid', of: ({ record }) => record.projectId },
  { name: 'event_id', type: 'text', of: ({ record }) => record.event.eventId },
  { name: 'event_name', type: 'text', of: ({ record }) => record.event.eventName },
  { name: 'record', type: 'jsonb', of: ({ record }) => JSON.stringify(record) },
  { name: 'errors', type: 'jsonb', of: ({ errors }) => JSON.stringify(errors) },
  { name: 'rejected_at', type: 'timestamptz', of: ({ rejectedAt }) => rejectedAt },
])

const INSERT = `
  INSERT INTO ingest.rejected_events (${columns.names}) SELECT * FROM ${columns.unnest} ON CONFLICT (id) DO NOTHING`

/** Puts events into the quarantine, each once per id of its rejection. */
export const storeRejectedEvents = async (
  client: ClientBase | Pool,
  rejected: readonly RejectedEvent[],
): Promise<void> => {
  await client.query({ name: 'store-rejected-events', text: INSERT, values: columns.values(rejected) })
}

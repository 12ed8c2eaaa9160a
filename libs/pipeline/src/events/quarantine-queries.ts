import type { DeadLetter, RejectedEvent } from '@waymark/contracts/records/quarantine-records'
import { bulkColumns } from '@waymark/database'
import type { ClientBase, Pool } from 'pg'

const rejectedColumns = bulkColumns<RejectedEvent>([
  { name: 'id', type: 'uuid', of: (rejected) => rejected.id },
  { name: 'project_id', type: 'uuid', of: ({ record }) => record.projectId },
  { name: 'event_id', type: 'text', of: ({ record }) => record.event.eventId },
  { name: 'event_name', type: 'text', of: ({ record }) => record.event.eventName },
  { name: 'record', type: 'jsonb', of: ({ record }) => JSON.stringify(record) },
  { name: 'errors', type: 'jsonb', of: ({ errors }) => JSON.stringify(errors) },
  { name: 'rejected_at', type: 'timestamptz', of: ({ rejectedAt }) => rejectedAt },
])

const INSERT_REJECTED = `
  INSERT INTO ingest.rejected_events (${rejectedColumns.names}) SELECT * FROM ${rejectedColumns.unnest} ON CONFLICT (id) DO NOTHING`

/** Stores rejected events, each once per `id`. */
export const storeRejectedEvents = async (
  client: ClientBase | Pool,
  rejected: readonly RejectedEvent[],
): Promise<void> => {
  await client.query({
    name: 'store-rejected-events',
    text: INSERT_REJECTED,
    values: rejectedColumns.values(rejected),
  })
}

const UUID = /^[0-9a-f]{8}-(?:[0-9a-f]{4}-){3}[0-9a-f]{12}$/

const deadLetterColumns = bulkColumns<DeadLetter>([
  { name: 'consumer_group', type: 'text', of: (letter) => letter.group },
  { name: 'topic', type: 'text', of: (letter) => letter.topic },
  { name: 'partition', type: 'int', of: (letter) => letter.partition },
  { name: 'offset', type: 'bigint', of: (letter) => letter.offset },
  { name: 'project_id', type: 'uuid', of: (letter) => projectOf(letter.key) },
  { name: 'key', type: 'text', of: (letter) => letter.key },
  {
    name: 'value',
    type: 'bytea',
    of: (letter) => `\\x${Buffer.from(letter.value, 'base64').toString('hex')}`,
  },
  { name: 'headers', type: 'jsonb', of: (letter) => JSON.stringify(letter.headers) },
  { name: 'reason', type: 'text', of: (letter) => letter.reason },
  { name: 'failed_at', type: 'timestamptz', of: (letter) => letter.failedAt },
])

const INSERT_DEAD_LETTERS = `
  INSERT INTO ingest.dead_letters (${deadLetterColumns.names}) SELECT * FROM ${deadLetterColumns.unnest}
  ON CONFLICT (consumer_group, topic, "partition", "offset") DO NOTHING`

/** Stores dead letters, each once per (group, topic, partition, offset). */
export const storeDeadLetters = async (
  client: ClientBase | Pool,
  letters: readonly DeadLetter[],
): Promise<void> => {
  await client.query({
    name: 'store-dead-letters',
    text: INSERT_DEAD_LETTERS,
    values: deadLetterColumns.values(letters),
  })
}

// Keys start with the project id, but a bad record may have any key.
const projectOf = (key: string | null): string | null => {
  const project = key?.split(':', 1)[0] ?? ''
  return UUID.test(project) ? project : null
}

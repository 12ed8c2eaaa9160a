import type { DeadLetter } from '@waymark/contracts'
import { bulkColumns } from '@waymark/database'
import type { ClientBase, Pool } from 'pg'

const UUID = /^[0-9a-f]{8}-(?:[0-9a-f]{4}-){3}[0-9a-f]{12}$/

const columns = bulkColumns<DeadLetter>([
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

const INSERT = `
  INSERT INTO ingest.dead_letters (${columns.names}) SELECT * FROM ${columns.unnest}
  ON CONFLICT (consumer_group, topic, "partition", "offset") DO NOTHING`

/** Keeps dead letters for inspection, each once per (group, topic, partition, offset). */
export const storeDeadLetters = async (
  client: ClientBase | Pool,
  letters: readonly DeadLetter[],
): Promise<void> => {
  await client.query({ name: 'store-dead-letters', text: INSERT, values: columns.values(letters) })
}

// Partition keys begin with the project; a poison record may carry anything.
const projectOf = (key: string | null): string | null => {
  const project = key?.split(':', 1)[0] ?? ''
  return UUID.test(project) ? project : null
}

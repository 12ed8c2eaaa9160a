import { type Log, type Topic, topics } from '@waymark/contracts'
import { bulkColumns, type Database } from '@waymark/database'
import {
  type EventBus,
  type OutgoingRecord,
  type SerializedRecord,
  serializeRecords,
  textOfKey,
} from '@waymark/event-bus'
import type { ClientBase, QueryConfig } from 'pg'
import { traceHeaders } from './trace-headers.ts'

type OutboxRow = { lane: string; topic: string; key: string; value: string; headers: string | null }
type StoredRow = {
  id: string
  topic: string
  key: string
  value: string
  headers: Record<string, string> | null
}

const RELAY_ROWS = 500
/** Turns of all lanes together in one run: after that, lanes that have failed or are new are looked at again. */
const TURNS_PER_RUN = 100

const columns = bulkColumns<OutboxRow>([
  { name: 'lane', type: 'text', of: (row) => row.lane },
  { name: 'topic', type: 'text', of: (row) => row.topic },
  { name: 'key', type: 'text', of: (row) => row.key },
  { name: 'value', type: 'text', of: (row) => row.value },
  { name: 'headers', type: 'jsonb', of: (row) => row.headers },
])

const INSERT = `INSERT INTO ingest.outbox (${columns.names}) SELECT * FROM ${columns.unnest}`
/** A step in the index for each lane, where DISTINCT would read every row. */
const LANES = `
  WITH RECURSIVE lanes AS (
    SELECT min(lane) AS lane FROM ingest.outbox
    UNION ALL
    SELECT (SELECT min(lane) FROM ingest.outbox WHERE lane > lanes.lane) FROM lanes WHERE lanes.lane IS NOT NULL
  )
  SELECT lane FROM lanes WHERE lane IS NOT NULL`
const LOCK_LANE = `SELECT pg_try_advisory_xact_lock(hashtextextended('outbox:' || $1, 0)) AS locked`
const OLDEST = `SELECT id, topic, key, value, headers FROM ingest.outbox WHERE lane = $1 ORDER BY id LIMIT $2`

/** Records of one topic for the outbox. */
export type OutboxEntry = { topic: Topic<unknown>; records: readonly OutgoingRecord<unknown>[] }

/**
 * Writes records that are to be published with the transaction of `client`: if it commits, the relay publishes
 * them. A lane keeps the order of each topic.
 */
export const addToOutbox = async <T>(
  client: ClientBase,
  lane: string,
  topic: Topic<T>,
  records: readonly OutgoingRecord<T>[],
): Promise<void> => {
  await client.query(outboxStatement(lane, [{ topic, records }]))
}

/** The statement that does the same for records of several topics. */
export const outboxStatement = (lane: string, entries: readonly OutboxEntry[]): QueryConfig =>
  insertion(
    lane,
    entries.map(({ topic, records }) => ({ topic, records: serializeRecords(records) })),
  )

/** The same for records whose values are text already. */
export const addSerializedToOutbox = async (
  client: ClientBase,
  lane: string,
  topic: Topic<unknown>,
  records: readonly SerializedRecord[],
): Promise<void> => {
  await client.query(insertion(lane, [{ topic, records }]))
}

const insertion = (
  lane: string,
  entries: readonly { topic: Topic<unknown>; records: readonly SerializedRecord[] }[],
): QueryConfig => {
  const trace = traceHeaders()
  const rows = entries.flatMap(({ topic, records }) =>
    records.map(({ key, value, headers = trace }) => ({
      lane,
      topic: topic.name,
      key: textOfKey(key),
      value,
      headers: headers ? JSON.stringify(headers) : null,
    })),
  )
  return { name: 'add-to-outbox', text: INSERT, values: columns.values(rows) }
}

/**
 * Publishes what lies in the outbox, oldest first in each lane and topic, and answers how many records that were;
 * after `turnsPerRun` batches it leaves the rest to the next run. Lanes take turns, and one that fails does not stop
 * the others. A lock per lane keeps its order whatever the number of relays; a crash after publishing repeats records.
 * @throws BusUnavailableError when the bus does not take a lane, once the others had their turns; what was not
 * confirmed stays in the outbox
 */
export const createOutboxRelay = ({
  db,
  bus,
  log,
  turnsPerRun = TURNS_PER_RUN,
}: {
  db: Database
  bus: EventBus
  log: Log
  turnsPerRun?: number
}) => {
  const topicNamed = new Map(topics.map((topic) => [topic.name, topic]))

  const publish = async (rows: StoredRow[]): Promise<void> => {
    const byTopic = Map.groupBy(rows, ({ topic }) => topic)
    await Promise.all(
      [...byTopic].map(async ([name, ofTopic]) => {
        const topic = topicNamed.get(name)
        if (!topic) throw new Error(`the outbox names an unknown topic: ${name}`)
        await bus.publishSerialized(topic, ofTopic.map(toSerialized))
      }),
    )
  }

  const relayLane = (lane: string): Promise<number> =>
    db.transaction(async (client) => {
      const lock = await client.query<{ locked: boolean }>(LOCK_LANE, [lane])
      if (!lock.rows[0]?.locked) return 0
      const { rows } = await client.query<StoredRow>(OLDEST, [lane, RELAY_ROWS])
      await publish(rows)
      await client.query('DELETE FROM ingest.outbox WHERE id = ANY($1::bigint[])', [rows.map(({ id }) => id)])
      return rows.length
    })

  return async (signal: AbortSignal): Promise<number> => {
    const { rows: lanes } = await db.pool.query<{ lane: string }>(LANES)
    const turns = lanes.map(({ lane }) => lane)
    const failures: unknown[] = []
    let relayed = 0
    for (const lane of turns) {
      if (signal.aborted) break
      try {
        const moved = await relayLane(lane)
        relayed += moved
        // Behind all others, as often as this run may.
        if (moved === RELAY_ROWS && turns.length < turnsPerRun) turns.push(lane)
      } catch (error) {
        log.warn({ lane, err: error }, 'a lane of the outbox could not be published')
        failures.push(error)
      }
    }
    if (relayed > 0) log.debug({ relayed }, 'published from the outbox')
    if (failures.length > 0) throw failures[0]
    return relayed
  }
}

const toSerialized = ({ key, value, headers }: StoredRow): SerializedRecord => ({
  key,
  value,
  ...(headers && { headers }),
})

import type { Log } from '@waymark/contracts/log'
import { topics } from '@waymark/contracts/topics'
import type { Database } from '@waymark/database'
import type { EventBus, SerializedRecord } from '@waymark/event-bus'
import { deleteFromOutbox, findLanes, lockOldest, type StoredRow } from './outbox-queries.ts'

const RELAY_ROWS = 500
/** Batches of one run, after which new lanes and failed ones are read again. */
const TURNS_PER_RUN = 100

/**
 * Publishes records of the outbox, oldest first in each lane and topic, and returns their number. Lanes take turns, and a
 * failed one does not stop the others. A lock per lane keeps its order with several relays. A crash after publishing
 * repeats records.
 * @throws BusUnavailableError after the turns of the other lanes; unconfirmed records stay in the outbox
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
      const rows = await lockOldest(client, lane, RELAY_ROWS)
      if (rows.length === 0) return 0
      await publish(rows)
      await deleteFromOutbox(client, rows)
      return rows.length
    })

  return async (signal: AbortSignal): Promise<number> => {
    const turns = await findLanes(db.pool)
    const failures: unknown[] = []
    let relayed = 0
    for (const lane of turns) {
      if (signal.aborted) break
      try {
        const moved = await relayLane(lane)
        relayed += moved
        // The lane has more records: it gets another turn after the others.
        if (moved === RELAY_ROWS && turns.length < turnsPerRun) turns.push(lane)
      } catch (error) {
        log.warn({ lane, err: error }, 'Outbox lane could not be published')
        failures.push(error)
      }
    }
    if (relayed > 0) log.debug({ relayed }, 'Published records from the outbox')
    if (failures.length > 0) throw failures[0]
    return relayed
  }
}

const toSerialized = ({ key, value, headers }: StoredRow): SerializedRecord => ({
  key,
  value,
  ...(headers && { headers }),
})

import { type Log, topics } from '@waymark/contracts'
import type { Database } from '@waymark/database'
import type { EventBus, SerializedRecord } from '@waymark/event-bus'
import { deleteFromOutbox, findLanes, lockOldest, type StoredRow } from './outbox-queries.ts'

const RELAY_ROWS = 500
/** Turns of all lanes together in one run: after that, lanes that have failed or are new are looked at again. */
const TURNS_PER_RUN = 100

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
        // Behind all others, as often as this run may.
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

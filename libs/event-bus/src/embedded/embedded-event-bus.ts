import type { Log, Topic } from '@waymark/contracts'
import type { Pool } from 'pg'
import { createDelivery, DEFAULT_BATCH_RECORDS, deadLettersTo } from '../delivery.ts'
import { partitionOf } from '../partitioner.ts'
import { type EventBus, publishing } from '../port.ts'
import { createAppender } from './appender.ts'
import { createEmbeddedConsumer } from './embedded-consumer.ts'
import { createGroupMembers } from './group-members.ts'

/** Where the log is kept. `databaseUrl` and `pool` are of the same database. */
export type EmbeddedLogOptions = { databaseUrl: string; pool: Pool; partitions?: number }

const SWEEP_INTERVAL_MS = 60_000
const SWEEP_ROWS = 10_000
/** Records that every group has read are kept this long, in ms. */
const KEEP_READ_MS = 24 * 60 * 60 * 1000

const SWEEP = `
  DELETE FROM bus.log WHERE (topic, "partition", "offset") IN (
    SELECT topic, "partition", "offset" FROM bus.log
    WHERE topic = $1 AND "partition" = $2 AND at < now() - $3 * interval '1 millisecond' AND "offset" < (
      SELECT min(next) FROM bus.log_offsets WHERE topic = $1 AND "partition" = $2
    ) ORDER BY "offset" LIMIT $4)`

/**
 * The event bus as a log in PostgreSQL, for one process.
 * @throws BusUnavailableError when another process has this log open
 */
export const openEmbeddedEventBus = async (
  { databaseUrl, pool, partitions = 4 }: EmbeddedLogOptions,
  log: Log,
): Promise<EventBus> => {
  const appender = createAppender(databaseUrl, log)
  await appender.open()
  const members = createGroupMembers(partitions)
  const subscribed = new Set<Topic<unknown>>()
  let closed = false

  const sweep = async (): Promise<void> => {
    for (const topic of subscribed) {
      for (let partition = 0; partition < partitions; partition++) {
        let deleted: number | null
        do {
          const result = await pool.query(SWEEP, [topic.name, partition, KEEP_READ_MS, SWEEP_ROWS])
          deleted = result.rowCount
        } while (deleted === SWEEP_ROWS && !closed)
      }
    }
  }
  let sweeping: Promise<void> | undefined
  const sweeper = setInterval(() => {
    sweeping ??= sweep()
      .catch((error) => log.warn({ err: error }, 'old records could not be deleted from the log'))
      .finally(() => {
        sweeping = undefined
      })
  }, SWEEP_INTERVAL_MS)
  sweeper.unref()

  const bus: EventBus = {
    ...publishing((topic, records) =>
      appender.append(
        records.map(({ key, value, headers }) => ({
          topic: topic.name,
          partition: partitionOf(key, partitions),
          key,
          value,
          headers,
        })),
      ),
    ),
    subscribe: (subscription) => {
      subscribed.add(subscription.topic)
      const deliver = createDelivery(subscription, { publishDeadLetters: deadLettersTo(bus), log })
      const { group, topic, maxBatchRecords = DEFAULT_BATCH_RECORDS } = subscription
      return createEmbeddedConsumer(
        { pool, appender, members, deliver, log },
        { group, topic: topic.name, maxBatchRecords },
      )
    },
    close: async () => {
      closed = true
      clearInterval(sweeper)
      await sweeping
      await appender.close()
    },
  }
  return bus
}

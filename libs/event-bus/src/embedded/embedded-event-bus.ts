import { partitionOf } from '@waymark/kafka-client'
import type { Pool } from 'pg'
import { createDelivery, DEFAULT_BATCH_RECORDS, type DeliveryDeps, deadLettersTo } from '../delivery.ts'
import { type EventBus, publishing } from '../port.ts'
import { createAppender } from './appender.ts'
import { createEmbeddedConsumer } from './embedded-consumer.ts'
import { createReadEmbeddedLag } from './embedded-lag.ts'
import { createGroupMembers } from './group-members.ts'
import { startSweeper } from './sweeper.ts'

/** `databaseUrl` and `pool` must belong to the same database. */
type EmbeddedLogOptions = { databaseUrl: string; pool: Pool; partitions?: number }

/**
 * An event bus for one process, as a log in PostgreSQL.
 * @throws BusUnavailableError when another process has this log open
 */
export const openEmbeddedEventBus = async (
  { databaseUrl, pool, partitions = 4 }: EmbeddedLogOptions,
  { log, classifyError }: Omit<DeliveryDeps, 'publishDeadLetters'>,
): Promise<EventBus> => {
  const appender = createAppender(databaseUrl, log)
  await appender.open()
  const members = createGroupMembers(partitions)
  const subscribed = new Set<string>()
  const sweeper = startSweeper({ pool, appender, hasMembers: (topic) => subscribed.has(topic), log })

  const bus: EventBus = {
    ...publishing((topic, records) =>
      appender.append(
        records.map(({ key, value, headers }) => ({
          topic: topic.name,
          partition: partitionOf(Buffer.from(key), partitions),
          key,
          value,
          headers,
        })),
      ),
    ),
    subscribe: (subscription) => {
      subscribed.add(subscription.topic.name)
      const deliver = createDelivery(subscription, {
        publishDeadLetters: deadLettersTo(bus),
        log,
        classifyError,
      })
      const { group, topic, maxBatchRecords = DEFAULT_BATCH_RECORDS } = subscription
      return createEmbeddedConsumer(
        { pool, appender, members, deliver, log },
        { group, topic: topic.name, maxBatchRecords },
      )
    },
    readLag: createReadEmbeddedLag(pool, appender),
    close: async () => {
      await sweeper.stop()
      await appender.close()
    },
  }
  return bus
}

import type { Log } from '@waymark/contracts/log'
import type { Topic } from '@waymark/contracts/topics'
import { type Database, isTransient } from '@waymark/database'
import { BusUnavailableError, type EventBus, type OutgoingRecord } from '@waymark/event-bus'
import { createBatcher } from './batcher.ts'
import { addToOutbox } from './outbox-queries.ts'
import { traceHeaders } from './trace-headers.ts'

/** Publishes records in the background. */
export type BackgroundPublisher<T> = {
  /** Adds a record to publish soon. False when too many are waiting and it was dropped. */
  add(record: OutgoingRecord<T>): boolean
  /** Publishes until `signal` aborts, and then what is left. */
  run(signal: AbortSignal): Promise<void>
}

type BackgroundPublisherOptions<T> = {
  topic: Topic<T>
  /** The lane of the outbox that records go to while the bus is down. */
  lane: string
  bus: Pick<EventBus, 'publish'>
  db: Pick<Database, 'transaction'>
  log: Log
  /** How long records are collected, in ms. */
  lingerMs?: number
  /** Most records that may wait; more are dropped. */
  maxWaiting?: number
}

const RETRY_MS = 1_000

/**
 * Collects records and publishes them in batches, so that callers do not wait. A record is lost when the process is
 * killed within `lingerMs` (50) or while the record is being sent. While the bus is down, records go to the outbox. While
 * the database is down too, they wait in memory, up to `maxWaiting` (20,000).
 */
export const createBackgroundPublisher = <T>({
  topic,
  lane,
  bus,
  db,
  log,
  lingerMs = 50,
  maxWaiting = 20_000,
}: BackgroundPublisherOptions<T>): BackgroundPublisher<T> => {
  let dropped = 0

  const publishOrSpool = async (records: readonly OutgoingRecord<T>[]): Promise<void> => {
    try {
      await bus.publish(topic, records)
    } catch (error) {
      if (!(error instanceof BusUnavailableError)) throw error
      await db.transaction((client) => addToOutbox(client, lane, topic, records))
    }
  }

  const send = async (records: readonly OutgoingRecord<T>[]): Promise<void> => {
    try {
      await publishOrSpool(records)
    } catch (error) {
      const details = { err: error, topic: topic.name, waiting: batcher.waiting(), dropped }
      if (isTransient(error)) {
        log.warn(details, 'Records are kept in memory; neither the bus nor the outbox accepts them')
        throw error
      }
      // Sending them again would block all records behind them.
      log.error(details, 'Records were lost; they cannot be published')
    }
  }
  const batcher = createBatcher({ send, lingerMs, retryMs: RETRY_MS, maxWaiting })

  return {
    add: (record) => {
      const headers = record.headers ?? traceHeaders()
      const added = batcher.add(headers ? { ...record, headers } : record)
      if (!added) dropped += 1
      return added
    },
    run: async (signal) => {
      const lost = await batcher.run(signal)
      if (lost > 0) log.error({ topic: topic.name, lost }, 'Records were lost when the process stopped')
    },
  }
}

import { setTimeout as sleep } from 'node:timers/promises'
import type { Log, Topic } from '@waymark/contracts'
import { type Database, isTransient } from '@waymark/database'
import { BusUnavailableError, type EventBus, type OutgoingRecord } from '@waymark/event-bus'
import { addToOutbox } from './outbox.ts'
import { traceHeaders } from './trace-headers.ts'

/** Publishes what nobody waits for. */
export type BackgroundPublisher<T> = {
  /** Takes a record to be published soon; false when too many are waiting, and it is dropped. */
  add(record: OutgoingRecord<T>): boolean
  /** Publishes until `signal` aborts, and then what is left. */
  run(signal: AbortSignal): Promise<void>
}

export type BackgroundPublisherOptions<T> = {
  topic: Topic<T>
  /** The lane of the outbox that records go to while the bus is away. */
  lane: string
  bus: Pick<EventBus, 'publish'>
  db: Pick<Database, 'transaction'>
  log: Log
  /** How long records gather, in ms. */
  lingerMs?: number
  /** Most records that may wait; more are dropped. */
  maxWaiting?: number
}

const BATCH = 1_000
/** Pause after nothing could be sent, in ms. */
const RETRY_MS = 1_000

/**
 * Gathers records and publishes them in the background, so that whoever adds one does not wait: a record is lost when
 * the process is killed within `lingerMs` (50) or while it is being sent. While the bus is away records go to the
 * outbox; while the database is away too they wait in memory, up to `maxWaiting` (20,000).
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
  let waiting: OutgoingRecord<T>[] = []
  let dropped = 0

  const publishOrSpool = async (records: readonly OutgoingRecord<T>[]): Promise<void> => {
    try {
      await bus.publish(topic, records)
    } catch (error) {
      if (!(error instanceof BusUnavailableError)) throw error
      await db.transaction((client) => addToOutbox(client, lane, topic, records))
    }
  }

  /** Sends what waits, in batches; false when the rest has to wait because neither the bus nor the outbox took it. */
  const flush = async (): Promise<boolean> => {
    while (waiting.length > 0) {
      const batch = waiting.slice(0, BATCH)
      try {
        await publishOrSpool(batch)
      } catch (error) {
        const details = { err: error, topic: topic.name, waiting: waiting.length, dropped }
        if (isTransient(error)) {
          log.warn(details, 'neither the bus nor the outbox takes records; they wait in memory')
          return false
        }
        // Trying again would hold up everything behind it for ever.
        log.error(details, 'records cannot be published and are given up')
      }
      waiting = waiting.slice(batch.length)
    }
    return true
  }

  return {
    add: (record) => {
      if (waiting.length < maxWaiting) {
        const headers = record.headers ?? traceHeaders()
        waiting.push(headers ? { ...record, headers } : record)
        return true
      }
      dropped += 1
      return false
    },
    run: async (signal) => {
      while (!signal.aborted) {
        const flushed = await flush()
        await sleep(flushed ? lingerMs : RETRY_MS, undefined, { signal }).catch(() => {})
      }
      await flush()
    },
  }
}

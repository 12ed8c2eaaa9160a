import type { Log, Topic } from '@waymark/contracts'
import { type Database, isTransient } from '@waymark/database'
import { BusUnavailableError, type EventBus, type OutgoingRecord } from '@waymark/event-bus'
import { addToOutbox } from './outbox.ts'

/** The way from the gateway to its topics. */
export type IngestQueue = {
  /**
   * Resolves when the records are durable: on the bus, or spooled in the database while the bus is away.
   * @throws BusUnavailableError when neither takes them
   */
  enqueue<T>(topic: Topic<T>, records: readonly OutgoingRecord<T>[]): Promise<void>
  /**
   * Resolves when the bus itself has acknowledged the records; they are never spooled.
   * @throws BusUnavailableError when it has not; they may have arrived all the same
   */
  enqueueOnBus<T>(topic: Topic<T>, records: readonly OutgoingRecord<T>[]): Promise<void>
  /** Looks whether the spool is empty again; to be called once a second. */
  watchSpool(): Promise<void>
}

/** The lane of spooled records in the outbox, unless said otherwise. */
const LANE = 'ingest-spool'
/** How long nothing is sent to a bus that has just failed, in ms. */
const OPEN_MS = 1_500
/** More records than this in the spool, about, and it takes no more: the disk is not endless. */
const MAX_SPOOLED = 5_000_000

const SPOOLED = `SELECT coalesce(max(id) - min(id) + 1, 0)::text AS spooled FROM ingest.outbox WHERE lane = $1`

/**
 * Publishes records, and spools them while the bus is away. As long as anything lies in the spool everything goes
 * through it, so that a person's later events do not overtake the earlier ones; the relay empties it in order.
 */
export const createIngestQueue = ({
  bus,
  db,
  log,
  now,
  lane = LANE,
}: {
  bus: EventBus
  db: Database
  log: Log
  now: () => number
  /** Records of one lane wait for each other, those of different lanes do not. */
  lane?: string
}): IngestQueue => {
  let spooling = false
  let spooled = 0
  let lastSpooledAt = Number.NEGATIVE_INFINITY
  let openUntil = Number.NEGATIVE_INFINITY

  const publish = async <T>(topic: Topic<T>, records: readonly OutgoingRecord<T>[]): Promise<void> => {
    if (now() < openUntil) throw new BusUnavailableError('the bus has just failed')
    try {
      await bus.publish(topic, records)
    } catch (error) {
      if (error instanceof BusUnavailableError) openUntil = now() + OPEN_MS
      throw error
    }
  }

  const spool = async <T>(topic: Topic<T>, records: readonly OutgoingRecord<T>[]): Promise<void> => {
    if (spooled > MAX_SPOOLED) throw new BusUnavailableError('the spool is full')
    try {
      await db.transaction((client) => addToOutbox(client, lane, topic, records))
    } catch (error) {
      if (!isTransient(error)) throw error
      throw new BusUnavailableError('neither the bus nor the spool answers', { cause: error })
    }
    lastSpooledAt = now()
  }

  return {
    enqueueOnBus: publish,
    enqueue: async (topic, records) => {
      if (records.length === 0) return
      if (!spooling) {
        try {
          return await publish(topic, records)
        } catch (error) {
          if (!(error instanceof BusUnavailableError)) throw error
          log.warn({ err: error }, 'the bus is away; accepted records are spooled')
          spooling = true
          lastSpooledAt = now()
        }
      }
      await spool(topic, records)
    },
    watchSpool: async () => {
      const askedAt = now()
      const { rows } = await db.pool.query<{ spooled: string }>(SPOOLED, [lane])
      spooled = Number(rows[0]?.spooled ?? 0)
      // Rows of other processes count too; an answer from before our own last row does not.
      if (spooled > 0) spooling = true
      else if (askedAt > lastSpooledAt) spooling = false
    },
  }
}

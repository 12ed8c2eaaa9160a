import { setTimeout as sleep } from 'node:timers/promises'
import type { Log, Topic } from '@waymark/contracts'
import { type Database, isTransient } from '@waymark/database'
import {
  BusUnavailableError,
  type EventBus,
  type OutgoingRecord,
  type SerializedRecord,
  serializeRecords,
} from '@waymark/event-bus'
import pTimeout, { TimeoutError } from 'p-timeout'
import { addSerializedToOutbox, hasRecordsUpTo, type LaneState, readLane } from './outbox-queries.ts'

/** The way from the gateway to its topics. */
export type IngestQueue = {
  /**
   * Resolves when the records are durable: on the bus, or spooled in the database while the bus is away.
   * @throws BusUnavailableError when neither takes them
   */
  enqueue<T>(topic: Topic<T>, records: readonly OutgoingRecord<T>[]): Promise<void>
  /** The same for values that are text already. @throws BusUnavailableError */
  enqueueSerialized(topic: Topic<unknown>, records: readonly SerializedRecord[]): Promise<void>
  /**
   * Resolves when the bus itself has acknowledged the records; they are never spooled.
   * @throws BusUnavailableError when it has not; they may have arrived all the same
   */
  enqueueOnBus<T>(topic: Topic<T>, records: readonly OutgoingRecord<T>[]): Promise<void>
  /** Looks whether records can go past the spool again; to be called once a second. */
  watchSpool(): Promise<void>
}

/** The lane of spooled records in the outbox, unless said otherwise. */
const LANE = 'ingest-spool'
/** How long nothing is sent to a bus that has just failed, in ms. */
const RETRY_COOLDOWN_MS = 1_500
/**
 * How long the bus may take for a record, in ms, and the bus and the spool together. A request may have spent a second
 * or two on its key and configuration before, and is answered by its own deadline (4.6 s) as if the store had failed.
 */
export const BUS_DEADLINE_MS = 2_500
export const ENQUEUE_DEADLINE_MS = 3_500
/** How long the spool may take for a record before the bus is tried instead, and is left alone after that, in ms. */
const SPOOL_DEADLINE_MS = 2_000
/** More records than this in the spool, about, and it takes no more: the disk is not endless. */
const MAX_SPOOLED = 5_000_000
/** A row that has waited this long tells that the relay does not keep up, in ms. */
const BACKLOG_MS = 2_000
/** How long requests may be held up until what was spooled before them has been published, in ms. */
const HOLD_MS = 500
const HOLD_POLL_MS = 20

/**
 * Publishes records, and spools them while the bus is away. As long as the spool has a backlog everything goes
 * through it, so that a person's later events do not overtake the earlier ones; the relay empties it in order. When the
 * relay has caught up, new requests are held for the moment that it takes to publish what was spooled before them, and
 * go to the bus again: waiting for an empty spool instead would never end under load.
 */
export const createIngestQueue = ({
  bus,
  db,
  log,
  now,
  lane = LANE,
}: {
  bus: EventBus
  db: Pick<Database, 'pool' | 'transaction'>
  log: Log
  /** In ms from anywhere; it never goes back. */
  now: () => number
  /** Records of one lane wait for each other, those of different lanes do not. */
  lane?: string
}): IngestQueue => {
  let spooling = false
  let spooled = 0
  let busSparedUntil = Number.NEGATIVE_INFINITY
  let spoolSparedUntil = Number.NEGATIVE_INFINITY
  /** What new requests wait for; at rest it is over. */
  let held = Promise.resolve()
  let holding = false
  const beingSpooled = new Set<Promise<void>>()

  const publish = async (topic: Topic<unknown>, records: readonly SerializedRecord[]): Promise<void> => {
    if (now() < busSparedUntil) throw new BusUnavailableError('the bus has just failed')
    try {
      await withinDeadline(bus.publishSerialized(topic, records), BUS_DEADLINE_MS)
    } catch (error) {
      if (error instanceof BusUnavailableError) busSparedUntil = now() + RETRY_COOLDOWN_MS
      throw error
    }
  }

  const insert = async (topic: Topic<unknown>, records: readonly SerializedRecord[]): Promise<void> => {
    if (spooled > MAX_SPOOLED) throw new BusUnavailableError('the spool is full')
    if (now() < spoolSparedUntil) throw new BusUnavailableError('the spool has just failed')
    const inserting = db.transaction((client) => addSerializedToOutbox(client, lane, topic, records))
    beingSpooled.add(inserting)
    // What comes too late is published twice, and stored once.
    void inserting.catch(() => {}).finally(() => beingSpooled.delete(inserting))
    try {
      await pTimeout(inserting, { milliseconds: SPOOL_DEADLINE_MS })
    } catch (error) {
      if (!isTransient(error) && !(error instanceof TimeoutError)) throw error
      spoolSparedUntil = now() + RETRY_COOLDOWN_MS
      throw new BusUnavailableError('the spool does not answer', { cause: error })
    }
  }

  /** Order is worth less than the record: without a spool it overtakes those that wait there. */
  const spoolOrPublish = async (
    topic: Topic<unknown>,
    records: readonly SerializedRecord[],
  ): Promise<void> => {
    try {
      await insert(topic, records)
    } catch (error) {
      if (!(error instanceof BusUnavailableError)) throw error
      await publish(topic, records)
    }
  }

  const look = async (): Promise<LaneState> => {
    const state = await readLane(db.pool, lane)
    spooled = state.records
    return state
  }

  /** Resolves to whether everything that is in the spool by now has been published soon enough. */
  const isCaughtUp = async (): Promise<boolean> => {
    const holdUntil = performance.now() + HOLD_MS
    await Promise.allSettled(beingSpooled)
    const { newest } = await look()
    if (newest === null) return true
    while (performance.now() < holdUntil) {
      if (!(await hasRecordsUpTo(db.pool, lane, newest))) return true
      await sleep(HOLD_POLL_MS)
    }
    return false
  }

  const tryToGoPast = async (): Promise<void> => {
    const caughtUp = isCaughtUp()
    // Nobody waits longer, not even for a database that hangs.
    held = pTimeout(caughtUp, { milliseconds: HOLD_MS }).then(
      (gone) => {
        if (gone) spooling = false
      },
      () => {},
    )
    holding = true
    await held
    holding = false
    await caughtUp
  }

  const publishOrSpool = async (
    topic: Topic<unknown>,
    records: readonly SerializedRecord[],
  ): Promise<void> => {
    if (records.length === 0) return
    if (holding) await held
    if (spooling) return spoolOrPublish(topic, records)
    try {
      await publish(topic, records)
    } catch (error) {
      if (!(error instanceof BusUnavailableError)) throw error
      if (!spooling) log.warn({ err: error }, 'Event bus is unavailable; spooling accepted records')
      spooling = true
      await insert(topic, records)
    }
  }

  const enqueue = (topic: Topic<unknown>, records: readonly SerializedRecord[]): Promise<void> =>
    withinDeadline(publishOrSpool(topic, records), ENQUEUE_DEADLINE_MS)

  return {
    // As text from here on: what the records were made of need not outlive the wait for Kafka.
    enqueueOnBus: (topic, records) => publish(topic, serializeRecords(records)),
    enqueue: (topic, records) => enqueue(topic, serializeRecords(records)),
    enqueueSerialized: enqueue,
    watchSpool: async () => {
      const { newest, waitedMs } = await look()
      // Rows of other processes count too.
      if (waitedMs > BACKLOG_MS) spooling = true
      else if (spooling && (newest === null || now() >= busSparedUntil)) await tryToGoPast()
    },
  }
}

/** What ends later than `ms` milliseconds from now has failed; it may have its effect all the same. */
const withinDeadline = async (outcome: Promise<void>, ms: number): Promise<void> => {
  try {
    await pTimeout(outcome, { milliseconds: ms })
  } catch (error) {
    if (!(error instanceof TimeoutError)) throw error
    throw new BusUnavailableError(`the queue did not take the record within ${ms} ms`, { cause: error })
  }
}

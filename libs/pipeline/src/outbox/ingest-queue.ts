import { setTimeout as sleep } from 'node:timers/promises'
import type { Log } from '@waymark/contracts/log'
import { BUS_DEADLINE_MS, ENQUEUE_DEADLINE_MS, SPOOL_DEADLINE_MS } from '@waymark/contracts/request-budget'
import type { Topic } from '@waymark/contracts/topics'
import { within } from '@waymark/contracts/within'
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

/** Publishes accepted records, with a spool in the database for outages of the bus. */
export type IngestQueue = {
  /**
   * Resolves when the records are durable: on the bus, or in the spool while the bus is unavailable.
   * @throws BusUnavailableError when neither accepts them
   */
  enqueue<T>(topic: Topic<T>, records: readonly OutgoingRecord<T>[]): Promise<void>
  /** Like `enqueue`, for values that are serialized already. @throws BusUnavailableError */
  enqueueSerialized(topic: Topic<unknown>, records: readonly SerializedRecord[]): Promise<void>
  /**
   * Resolves when the bus has acknowledged the records. They are never spooled.
   * @throws BusUnavailableError when it has not; the records may still arrive
   */
  enqueueOnBus<T>(topic: Topic<T>, records: readonly OutgoingRecord<T>[]): Promise<void>
  /** Checks whether records can bypass the spool again. Call it once a second. */
  watchSpool(): Promise<void>
}

/** The default lane of spooled records in the outbox. */
const LANE = 'ingest-spool'
/** How long the bus or the spool is not used after a failure, in ms. */
const RETRY_COOLDOWN_MS = 1_500
/** Most records in the spool, approximately, to bound its disk space. */
const MAX_SPOOLED = 5_000_000
/** When a row has waited this long, the relay does not keep up, in ms. */
const BACKLOG_MS = 2_000
/** How long requests may wait until the records spooled before them are published, in ms. */
const HOLD_MS = 500
const HOLD_POLL_MS = 20

/**
 * Publishes records, and spools them while the bus is unavailable. While the spool has a backlog, all records go through
 * it, so that the events of a person keep their order; the relay publishes them in order. When the relay has caught up,
 * new requests wait until the records spooled before them are published, and then use the bus again. Waiting for an empty
 * spool would never end under load.
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
  /** A monotonic clock in ms. */
  now: () => number
  /** Records keep their order within a lane. */
  lane?: string
}): IngestQueue => {
  let spooling = false
  let spooled = 0
  let busRetryAt = Number.NEGATIVE_INFINITY
  let spoolRetryAt = Number.NEGATIVE_INFINITY
  /** New requests wait for it while `holding`. */
  let held = Promise.resolve()
  let holding = false
  const beingSpooled = new Set<Promise<void>>()

  const publish = async (topic: Topic<unknown>, records: readonly SerializedRecord[]): Promise<void> => {
    if (now() < busRetryAt)
      throw new BusUnavailableError('The event bus failed shortly before; waiting before the next attempt')
    try {
      await within(BUS_DEADLINE_MS, bus.publishSerialized(topic, records), notInTime)
    } catch (error) {
      if (error instanceof BusUnavailableError) busRetryAt = now() + RETRY_COOLDOWN_MS
      throw error
    }
  }

  const insert = async (topic: Topic<unknown>, records: readonly SerializedRecord[]): Promise<void> => {
    if (spooled > MAX_SPOOLED) throw new BusUnavailableError('The spool is full')
    if (now() < spoolRetryAt)
      throw new BusUnavailableError('The spool failed shortly before; waiting before the next attempt')
    // After a failure one request tries the spool, and the others do not wait with it.
    if (spoolRetryAt > Number.NEGATIVE_INFINITY) spoolRetryAt = now() + SPOOL_DEADLINE_MS
    const inserting = db.transaction((client) => addSerializedToOutbox(client, lane, topic, records))
    beingSpooled.add(inserting)
    // If it commits after the deadline, the records are published twice; consumers drop repeats.
    void inserting.catch(() => {}).finally(() => beingSpooled.delete(inserting))
    try {
      await pTimeout(inserting, { milliseconds: SPOOL_DEADLINE_MS })
      spoolRetryAt = Number.NEGATIVE_INFINITY
    } catch (error) {
      if (!isTransient(error) && !(error instanceof TimeoutError)) throw error
      spoolRetryAt = now() + RETRY_COOLDOWN_MS
      throw new BusUnavailableError('The spool does not respond', { cause: error })
    }
  }

  /** When the spool fails, records go to the bus out of order, because losing them would be worse. */
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

  const readSpool = async (): Promise<LaneState> => {
    const state = await readLane(db.pool, lane)
    spooled = state.records
    return state
  }

  /** Whether all records that are in the spool now are published within `HOLD_MS`. */
  const isCaughtUp = async (): Promise<boolean> => {
    const holdUntil = performance.now() + HOLD_MS
    await Promise.allSettled(beingSpooled)
    const { newest } = await readSpool()
    if (newest === null) return true
    while (performance.now() < holdUntil) {
      if (!(await hasRecordsUpTo(db.pool, lane, newest))) return true
      await sleep(HOLD_POLL_MS)
    }
    return false
  }

  const tryToBypassSpool = async (): Promise<void> => {
    const caughtUp = isCaughtUp()
    // With a timeout, because the database may hang.
    held = pTimeout(caughtUp, { milliseconds: HOLD_MS }).then(
      (isDone) => {
        if (isDone) spooling = false
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
    within(ENQUEUE_DEADLINE_MS, publishOrSpool(topic, records), notInTime)

  return {
    enqueueOnBus: (topic, records) => publish(topic, serializeRecords(records)),
    enqueue: (topic, records) => enqueue(topic, serializeRecords(records)),
    enqueueSerialized: enqueue,
    watchSpool: async () => {
      // Includes records of other processes.
      const { newest, waitedMs } = await readSpool()
      if (waitedMs > BACKLOG_MS) spooling = true
      else if (spooling && (newest === null || now() >= busRetryAt)) await tryToBypassSpool()
    },
  }
}

/** The records may still arrive. */
const notInTime = (): Error => new BusUnavailableError('The queue did not accept the records in time')

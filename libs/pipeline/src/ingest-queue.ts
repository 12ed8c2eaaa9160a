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
import { addSerializedToOutbox } from './outbox.ts'

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
const SPARED_MS = 1_500
/** How long the spool may take for a record before the bus is tried instead, and is left alone after that, in ms. */
const SPOOL_DEADLINE_MS = 2_000
/** More records than this in the spool, about, and it takes no more: the disk is not endless. */
const MAX_SPOOLED = 5_000_000
/** A row that has waited this long tells that the relay does not keep up, in ms. */
const BACKLOG_MS = 2_000
/** How long requests may be held up until what was spooled before them has been published, in ms. */
const HOLD_MS = 500
const HOLD_POLL_MS = 20

const LOOK = `
  SELECT max(id)::text AS newest, coalesce(max(id) - min(id) + 1, 0)::text AS spooled,
    coalesce((SELECT extract(epoch FROM clock_timestamp() - created_at) * 1000 FROM ingest.outbox
      WHERE lane = $1 ORDER BY id LIMIT 1), 0)::float8 AS waited_ms
  FROM ingest.outbox WHERE lane = $1`
const UP_TO = 'SELECT FROM ingest.outbox WHERE lane = $1 AND id <= $2 LIMIT 1'

type Spool = { newest: string | null; spooled: string; waited_ms: number }

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
      await bus.publishSerialized(topic, records)
    } catch (error) {
      if (error instanceof BusUnavailableError) busSparedUntil = now() + SPARED_MS
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
      spoolSparedUntil = now() + SPARED_MS
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

  const look = async (): Promise<Spool> => {
    const { rows } = await db.pool.query<Spool>(LOOK, [lane])
    const [spool = { newest: null, spooled: '0', waited_ms: 0 }] = rows
    spooled = Number(spool.spooled)
    return spool
  }

  /** Resolves to whether everything that is in the spool by now has been published soon enough. */
  const isCaughtUp = async (): Promise<boolean> => {
    const holdUntil = performance.now() + HOLD_MS
    await Promise.allSettled(beingSpooled)
    const { newest } = await look()
    if (newest === null) return true
    while (performance.now() < holdUntil) {
      const { rows } = await db.pool.query({ text: UP_TO, values: [lane, newest] })
      if (rows.length === 0) return true
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
      if (!spooling) log.warn({ err: error }, 'the bus is away; accepted records are spooled')
      spooling = true
      await insert(topic, records)
    }
  }

  return {
    // As text from here on: what the records were made of need not outlive the wait for Kafka.
    enqueueOnBus: (topic, records) => publish(topic, serializeRecords(records)),
    enqueue: (topic, records) => publishOrSpool(topic, serializeRecords(records)),
    enqueueSerialized: publishOrSpool,
    watchSpool: async () => {
      const { newest, waited_ms } = await look()
      // Rows of other processes count too.
      if (waited_ms > BACKLOG_MS) spooling = true
      else if (spooling && (newest === null || now() >= busSparedUntil)) await tryToGoPast()
    },
  }
}

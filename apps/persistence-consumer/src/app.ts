import { consumerGroups } from '@waymark/contracts/topics'
import type { Delivery } from '@waymark/event-bus'
import {
  type AboutPeople,
  aboutDeadLetter,
  aboutExposure,
  aboutRecord,
  cacheUserAgents,
  createArchivedUntil,
  createCompleteCounts,
  createDeliveryAudit,
  createDeriveVisits,
  createEventWriter,
  createForgetIds,
  createOutboxRelay,
  createProfileWriter,
  createPurger,
  createRetention,
  forgetOldCounts,
  forgetVisitors,
  storeClicks,
  storeDeadLetters,
  storeExposures,
  storeRejectedEvents,
  withoutErased,
  writeTogether,
} from '@waymark/pipeline'
import {
  type Archive,
  countStoredEvents,
  drain,
  everyMs,
  measureDeliveries,
  type Platform,
  type Service,
} from '@waymark/service-kit'
import { archiveLoops } from './archive-loops.ts'
import { moveEventsLoop } from './move-events.ts'
import { watchOutbox } from './outbox-gauges.ts'

/** Events that are stored together: more than of other records, because a transaction and an insert cost as much with few. */
const MAX_BATCH_EVENTS = 2_000
/** Partitions whose events may be written together. */
const PARTITIONS_AT_ONCE = 8
const RELAY_INTERVAL_MS = 500
const PURGE_INTERVAL_MS = 1_000
const FORGET_INTERVAL_MS = 10 * 60 * 1000
const COMPLETE_COUNTS_INTERVAL_MS = 5_000
const FORGET_COUNTS_INTERVAL_MS = 60 * 60 * 1000
const RETENTION_INTERVAL_MS = 60 * 1000
const FORGET_IDS_INTERVAL_MS = 60 * 1000
const AUDIT_INTERVAL_MS = 1_000
const DERIVE_VISITS_INTERVAL_MS = 10 * 60 * 1000

type Client = Parameters<typeof withoutErased>[0]

/**
 * The only writer of events and of what follows from them. Also publishes the outbox, purges erased people, writes the
 * archive, removes events that are older than their project keeps them, and checks that the stores have what was
 * acknowledged.
 */
export const createPersistenceConsumer = (platform: Platform, archive?: Archive): Service => {
  const { db, bus, cache, eventStore, deleteMailCopies, projectConfigs, clock, log } = platform
  const describeUserAgent = cacheUserAgents()
  const onStored = countStoredEvents(platform.metrics)
  const writeEvents = createEventWriter({ db, eventStore, projectConfigs, onStored })
  const writeProfiles = createProfileWriter({ db, eventStore })
  const relay = createOutboxRelay({ db, bus, log })
  const { purgeAll } = createPurger({ db, eventStore, cache, deleteMailCopies })
  const auditDeliveries = createDeliveryAudit({
    db,
    bus,
    eventStore,
    now: clock,
    log,
    onSettled: measureDeliveries(platform.metrics),
  })
  const removeOldEvents = createRetention({
    db,
    eventStore,
    archivedUntil: createArchivedUntil(db.pool),
    now: clock,
  })
  /** Stores records in one transaction, without those of erased people. */
  const storeUnlessErased =
    <T>(
      about: (record: T) => AboutPeople,
      store: (client: Client, records: readonly T[]) => Promise<unknown>,
    ) =>
    (records: readonly T[]): Promise<unknown> =>
      db.transaction(async (client) => store(client, (await withoutErased(client, records, about)).kept))
  return {
    consumers: [
      bus.subscribe({
        ...consumerGroups.events,
        maxBatchRecords: MAX_BATCH_EVENTS,
        partitionsAtOnce: PARTITIONS_AT_ONCE,
        handle: withValues(writeTogether(writeEvents)),
      }),
      bus.subscribe({
        ...consumerGroups.rejected,
        handle: withValues(storeUnlessErased(({ record }) => aboutRecord(record), storeRejectedEvents)),
      }),
      bus.subscribe({
        ...consumerGroups.clicks,
        handle: withValues((clicks) => storeClicks(db.pool, clicks, describeUserAgent)),
      }),
      bus.subscribe({
        ...consumerGroups.exposures,
        handle: withValues(storeUnlessErased(aboutExposure, storeExposures)),
      }),
      bus.subscribe({
        ...consumerGroups.profiles,
        handle: withValues(writeProfiles),
      }),
      bus.subscribe({
        ...consumerGroups.deadLetters,
        maxBatchRecords: 50,
        handle: withValues(storeUnlessErased(aboutDeadLetter, storeDeadLetters)),
      }),
    ],
    loops: [
      watchOutbox(platform),
      ...archiveLoops(platform, archive),
      drain('erasures', PURGE_INTERVAL_MS, purgeAll),
      drain('outbox-relay', RELAY_INTERVAL_MS, relay),
      drain('link-visitors', FORGET_INTERVAL_MS, () => forgetVisitors(db.pool)),
      everyMs('retention', RETENTION_INTERVAL_MS, removeOldEvents),
      drain('event-ids', FORGET_IDS_INTERVAL_MS, createForgetIds({ pool: db.pool, now: clock })),
      drain(
        'complete-counts',
        COMPLETE_COUNTS_INTERVAL_MS,
        createCompleteCounts({ db, eventStore, now: clock }),
      ),
      moveEventsLoop(platform),
      drain('visits', DERIVE_VISITS_INTERVAL_MS, createDeriveVisits({ db, eventStore, now: clock })),
      drain('delivery-audit', AUDIT_INTERVAL_MS, auditDeliveries),
      drain('forget-counts', FORGET_COUNTS_INTERVAL_MS, () => forgetOldCounts(db.pool, clock())),
    ],
  }
}

/** Handles a batch by the values of its records. */
const withValues =
  <T>(write: (values: readonly T[]) => Promise<unknown>) =>
  async (batch: readonly Delivery<T>[]): Promise<undefined> => {
    await write(batch.map(({ value }) => value))
  }

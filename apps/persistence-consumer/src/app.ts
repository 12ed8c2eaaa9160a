import {
  changedProfiles,
  deadLetters,
  enrichedEvents,
  exposures,
  linkClicks,
  rejectedEvents,
} from '@waymark/contracts'
import {
  aboutDeadLetter,
  aboutExposure,
  aboutRecord,
  createEventPartitions,
  createEventWriter,
  createOutboxRelay,
  createProfileWriter,
  createPurger,
  forgetOldCounts,
  forgetVisitors,
  rememberUserAgents,
  storeClicks,
  storeDeadLetters,
  storeExposures,
  storeRejectedEvents,
  withoutErased,
} from '@waymark/pipeline'
import { drain, everyMs, type Platform, type Service } from '@waymark/service-kit'
import { watchOutbox } from './outbox-gauges.ts'

const RELAY_INTERVAL_MS = 500
const PURGE_INTERVAL_MS = 1_000
const FORGET_INTERVAL_MS = 10 * 60 * 1000
const PARTITIONS_INTERVAL_MS = 60 * 60 * 1000
const FORGET_COUNTS_INTERVAL_MS = 60 * 60 * 1000

/** The only writer of events and of what follows from them; it also empties the outbox. */
export const createPersistenceConsumer = (platform: Platform): Service => {
  const { db, bus, cache, analytics, deleteMailCopies, projectConfigs, clock, log } = platform
  const partitions = createEventPartitions(db)
  const describeUserAgent = rememberUserAgents()
  const writeEvents = createEventWriter({ db, analytics, projectConfigs, partitions })
  const writeProfiles = createProfileWriter({ db, analytics })
  const relay = createOutboxRelay({ db, bus, log })
  const { purgeAll } = createPurger({ db, analytics, cache, deleteMailCopies })
  return {
    consumers: [
      bus.subscribe({
        group: 'persistence',
        topic: enrichedEvents,
        handle: async (batch) => {
          await writeEvents(batch.map(({ value }) => value))
          return undefined
        },
      }),
      bus.subscribe({
        group: 'persistence-rejected',
        topic: rejectedEvents,
        handle: async (batch) => {
          const rejected = batch.map(({ value }) => value)
          await db.transaction(async (client) => {
            const { kept } = await withoutErased(client, rejected, ({ record }) => aboutRecord(record))
            await storeRejectedEvents(client, kept)
          })
          return undefined
        },
      }),
      bus.subscribe({
        group: 'persistence-clicks',
        topic: linkClicks,
        handle: async (batch) => {
          await storeClicks(
            db.pool,
            batch.map(({ value }) => value),
            describeUserAgent,
          )
          return undefined
        },
      }),
      bus.subscribe({
        group: 'persistence-exposures',
        topic: exposures,
        handle: async (batch) => {
          const exposed = batch.map(({ value }) => value)
          await db.transaction(async (client) => {
            const { kept } = await withoutErased(client, exposed, aboutExposure)
            await storeExposures(client, kept)
          })
          return undefined
        },
      }),
      bus.subscribe({
        group: 'persistence-profiles',
        topic: changedProfiles,
        handle: async (batch) => {
          await writeProfiles(batch.map(({ value }) => value))
          return undefined
        },
      }),
      bus.subscribe({
        group: 'persistence-dead-letters',
        topic: deadLetters,
        maxBatchRecords: 50,
        handle: async (batch) => {
          const letters = batch.map(({ value }) => value)
          await db.transaction(async (client) => {
            const { kept } = await withoutErased(client, letters, aboutDeadLetter)
            await storeDeadLetters(client, kept)
          })
          return undefined
        },
      }),
    ],
    loops: [
      watchOutbox(platform),
      drain('erasures', PURGE_INTERVAL_MS, purgeAll),
      drain('outbox-relay', RELAY_INTERVAL_MS, relay),
      drain('link-visitors', FORGET_INTERVAL_MS, () => forgetVisitors(db.pool)),
      everyMs('event-partitions', PARTITIONS_INTERVAL_MS, () => partitions.makeAhead(new Date(clock()))),
      drain('forget-counts', FORGET_COUNTS_INTERVAL_MS, () => forgetOldCounts(db.pool, clock())),
    ],
  }
}

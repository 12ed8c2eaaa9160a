import { deadLetters, enrichedEvents, exposures, linkClicks, rejectedEvents } from '@waymark/contracts'
import {
  aboutDeadLetter,
  aboutExposure,
  aboutRecord,
  createEventPartitions,
  createOutboxRelay,
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
import type { Platform, Service } from '@waymark/service-kit'
import { watchOutbox } from './outbox-gauges.ts'
import { createPersistEvents } from './persist-events.ts'

const RELAY_INTERVAL_MS = 500
const PURGE_INTERVAL_MS = 1_000
const FORGET_INTERVAL_MS = 10 * 60 * 1000
const PARTITIONS_INTERVAL_MS = 60 * 60 * 1000
const FORGET_COUNTS_INTERVAL_MS = 60 * 60 * 1000

/** The only writer of events and of what follows from them; it also empties the outbox. */
export const createPersistenceConsumer = (platform: Platform): Service => {
  const { db, bus, cache, analytics, projectConfigs, clock, log } = platform
  const partitions = createEventPartitions(db)
  const describeUserAgent = rememberUserAgents()
  const relay = createOutboxRelay({ db, bus, log })
  const { purgeAll } = createPurger({ db, analytics, cache })
  return {
    consumers: [
      bus.subscribe({
        group: 'persistence',
        topic: enrichedEvents,
        handle: createPersistEvents({ db, analytics, projectConfigs, partitions }),
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
      { name: 'erasures', everyMs: PURGE_INTERVAL_MS, run: async (signal) => (await purgeAll(signal)) > 0 },
      { name: 'outbox-relay', everyMs: RELAY_INTERVAL_MS, run: async (signal) => (await relay(signal)) > 0 },
      { name: 'link-visitors', everyMs: FORGET_INTERVAL_MS, run: () => forgetVisitors(db.pool) },
      {
        name: 'event-partitions',
        everyMs: PARTITIONS_INTERVAL_MS,
        run: async () => {
          await partitions.makeAhead(new Date(clock()))
          return false
        },
      },
      {
        name: 'forget-counts',
        everyMs: FORGET_COUNTS_INTERVAL_MS,
        run: () => forgetOldCounts(db.pool, clock()),
      },
    ],
  }
}

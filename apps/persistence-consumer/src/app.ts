import { deadLetters, enrichedEvents, exposures, rejectedEvents } from '@waymark/contracts'
import {
  createEventPartitions,
  createOutboxRelay,
  forgetOldCounts,
  storeDeadLetters,
  storeExposures,
  storeRejectedEvents,
} from '@waymark/pipeline'
import type { Platform, Service } from '@waymark/service-kit'
import { createPersistEvents } from './persist-events.ts'

const RELAY_INTERVAL_MS = 500
const PARTITIONS_INTERVAL_MS = 60 * 60 * 1000
const FORGET_COUNTS_INTERVAL_MS = 60 * 60 * 1000

/** The only writer of events and of what follows from them; it also empties the outbox. */
export const createPersistenceConsumer = (platform: Platform): Service => {
  const { db, bus, analytics, projectConfigs, clock, log } = platform
  const partitions = createEventPartitions(db)
  const relay = createOutboxRelay({ db, bus, log })
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
          await storeRejectedEvents(
            db.pool,
            batch.map(({ value }) => value),
          )
          return undefined
        },
      }),
      bus.subscribe({
        group: 'persistence-exposures',
        topic: exposures,
        handle: async (batch) => {
          await storeExposures(
            db.pool,
            batch.map(({ value }) => value),
          )
          return undefined
        },
      }),
      bus.subscribe({
        group: 'persistence-dead-letters',
        topic: deadLetters,
        maxBatchRecords: 50,
        handle: async (batch) => {
          await storeDeadLetters(
            db.pool,
            batch.map(({ value }) => value),
          )
          return undefined
        },
      }),
    ],
    loops: [
      { name: 'outbox-relay', everyMs: RELAY_INTERVAL_MS, run: async (signal) => (await relay(signal)) > 0 },
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

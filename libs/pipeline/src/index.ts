export { type BackgroundPublisher, createBackgroundPublisher } from './background-publisher.ts'
export { findPeople, type Person, type Wanted } from './decisions/find-people.ts'
export {
  type CountedEvents,
  countedEventsIn,
  forgetOldCounts,
  storeCounts,
} from './decisions/store-counts.ts'
export { storeExposures } from './decisions/store-exposures.ts'
export { type DemoProject, ensureDemoProject, hasDemoProject } from './demo-project.ts'
export { createEventPartitions, type EventPartitions } from './event-partitions.ts'
export { applyIdentify } from './identity/apply-identify.ts'
export { type PersonRef, resolveProfiles } from './identity/resolve-profiles.ts'
export { type TraitsToWrite, type WrittenProfile, writeTraits } from './identity/write-traits.ts'
export { createIngestQueue, type IngestQueue } from './ingest-queue.ts'
export { addToOutbox, createOutboxRelay } from './outbox.ts'
export { createProcessAtOnce } from './process-at-once.ts'
export { storeArrivals } from './store-arrivals.ts'
export { storeDeadLetters } from './store-dead-letters.ts'
export { storeRejectedEvents } from './store-rejected-events.ts'
export { storeUnavailable } from './store-unavailable.ts'

export { type BackgroundPublisher, createBackgroundPublisher } from './background-publisher.ts'
export { type AssignedCoupon, createAssignCoupon, type NoCoupon } from './coupon/assign-coupon.ts'
export { givenCouponKey } from './coupon/given-coupon-keys.ts'
export { insertCoupons, type NewCode } from './coupon/insert-coupons.ts'
export { findPeople, type Person, personCacheKey, type Wanted } from './decisions/find-people.ts'
export {
  type CountedEvents,
  countedEventsIn,
  forgetOldCounts,
  storeCounts,
} from './decisions/store-counts.ts'
export { storeExposures } from './decisions/store-exposures.ts'
export { type DemoProject, ensureDemoProject, hasDemoProject } from './demo-project.ts'
export { eraseProfile } from './erasure/erase-profile.ts'
export {
  type AboutPeople,
  aboutAnything,
  aboutDeadLetter,
  aboutEvent,
  aboutExposure,
  aboutIdentify,
  aboutRecord,
  findErased,
  withoutErased,
} from './erasure/erased-records.ts'
export type { ErasureJob, PurgeDeps } from './erasure/erasure-job.ts'
export { exportPerson, findPerson } from './erasure/export-person.ts'
export { type PersonalData, personalData } from './erasure/personal-data.ts'
export { createPurger } from './erasure/purge.ts'
export { createEventPartitions, type EventPartitions } from './event-partitions.ts'
export { applyIdentify } from './identity/apply-identify.ts'
export { type PersonRef, resolveProfiles } from './identity/resolve-profiles.ts'
export { retryConflicts } from './identity/retry-conflicts.ts'
export { type TraitsToWrite, type WrittenProfile, writeTraits } from './identity/write-traits.ts'
export { createIngestQueue, type IngestQueue } from './ingest-queue.ts'
export { forgetVisitors } from './links/forget-visitors.ts'
export { linkCopyKey } from './links/link-copy.ts'
export { createResolveLinks, type ResolveLinks } from './links/resolve-links.ts'
export { storeClicks } from './links/store-clicks.ts'
export { addToOutbox, createOutboxRelay, outboxStatement } from './outbox.ts'
export { readOutboxDepth } from './outbox-depth.ts'
export { createProcessAtOnce } from './process-at-once.ts'
export { storeArrivals } from './store-arrivals.ts'
export { storeDeadLetters } from './store-dead-letters.ts'
export { storeEvents } from './store-events.ts'
export { createStoreInBoth, type StoreInBothDeps } from './store-in-both.ts'
export { storeRejectedEvents } from './store-rejected-events.ts'
export { storeUnavailable } from './store-unavailable.ts'
export { traceHeaders } from './trace-headers.ts'
export { rememberBots, rememberUserAgents } from './user-agents.ts'

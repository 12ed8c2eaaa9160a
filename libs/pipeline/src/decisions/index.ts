export { createCompleteCounts } from './complete-counts-queries.ts'
export { type CountedEvents, forgetOldCounts, storeCounts } from './count-queries.ts'
export { storeExposures } from './exposure-queries.ts'
export { findPeople, type Person, personCacheKey, type WantedPerson } from './person-queries.ts'

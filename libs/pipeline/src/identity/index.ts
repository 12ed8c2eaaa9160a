export { applyIdentify, identitiesOf } from './apply-identify.ts'
export { resolveProfiles } from './identity-queries.ts'
export {
  createPersonChanges,
  identityMark,
  isQueuedMark,
  type PersonChanges,
  profileMark,
} from './person-changes.ts'
export { createProfileWriter } from './store-changed-profiles.ts'
export { storeTouches } from './store-touches.ts'
export { writeTraits } from './write-traits.ts'

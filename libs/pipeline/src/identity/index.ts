export { applyIdentify } from './apply-identify.ts'
export { changePeople, identitiesOf, type PersonChange, traitsTooLarge } from './change-people.ts'
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
export { justErased, writeTraits } from './write-traits.ts'

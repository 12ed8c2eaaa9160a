export { type CheckedTraits, checkTraits, traitsProblem } from './check-traits.ts'
export {
  dailyVisitorId,
  type Identity,
  type IdentityKind,
  isDailyVisitor,
  type Link,
  type LinkPlan,
  laterLink,
  planLink,
  profileIdOf,
} from './link.ts'
export { memberSize } from './member-size.ts'
export { mergeTouches, noTouches, type Touches, touchesOf } from './touch.ts'
export {
  exceedsProfile,
  mergeTraits,
  mergeTraitsThatFit,
  noTraits,
  protectedTraits,
  type TraitState,
  type TraitWrite,
  writtenTraits,
} from './trait-state.ts'
export { generateIdentitySecret, isUserHash, userHashOf } from './user-hash.ts'

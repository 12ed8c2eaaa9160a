export { hashPassword } from './account/password.ts'
export { compileEventSchema, type PropertyCheck, requireUsableSchema } from './catalog/event-schema.ts'
export { type Catalog, validateEvent, validationModeOf } from './catalog/validate-event.ts'
export {
  type CompiledSelector,
  compileSelector,
  conversionsOf,
  requireUsableFilter,
} from './conversion/metering.ts'
export { type EnrichmentInputs, type EnrichmentLookups, enrichEvent } from './enrichment/enrich-event.ts'
export { clientNetworkOf, storableIp, truncateIp } from './enrichment/ip-address.ts'
export { hostOf } from './enrichment/page.ts'
export { describeUserAgent, isBot, type UserAgent } from './enrichment/user-agent.ts'
export { type CheckedTraits, checkTraits, traitsProblem } from './identity/check-traits.ts'
export {
  type Identity,
  type IdentityKind,
  type KnownVisitor,
  type Link,
  type LinkPlan,
  laterLink,
  planLink,
  profileIdOf,
} from './identity/link.ts'
export { memberSize } from './identity/member-size.ts'
export { mergeTouches, noTouches, type Touches, touchesOf } from './identity/touch.ts'
export {
  mergeTraits,
  noTraits,
  type TraitState,
  type TraitWrite,
  writtenTraits,
} from './identity/trait-state.ts'
export { type Acceptance, acceptEvent, sampleOf } from './ingestion/accept-event.ts'
export { eventKeyOf } from './ingestion/event-key.ts'
export { partitionKeyOf } from './ingestion/partition-key.ts'
export { parseRfc3339 } from './ingestion/rfc3339.ts'
export { parseJson } from './ingestion/sanitize.ts'
export { type ApiKeyParts, generateApiKey, parseApiKey, scopeAllows, secretMatches } from './key/api-key.ts'
export { clickTagOf, clickTimeOf, createClickIds, parseClickId } from './link/click-id.ts'
export { codeProblem, generateCode, LINK_CODE } from './link/code.ts'
export {
  CLICK_PARAMETER,
  checkDestination,
  locate,
  type PreparedDestination,
  prepareDestination,
} from './link/destination.ts'
export { type LinkClaim, type LinkReference, linkClaimOf } from './link/link-reference.ts'
export { type LinkEnd, linkStateAt } from './link/link-state.ts'
export { describeVisitor, fitsTarget, type LinkVisitor } from './link/link-target.ts'
export { attributeTo, type LinkTouch } from './link/link-touch.ts'

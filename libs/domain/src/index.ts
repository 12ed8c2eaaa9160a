export { hashPassword, isCommonPassword, unmatchableHash, verifyPassword } from './account/password.ts'
export { roleAllows, roleOfScopes, scopesOfRole, strongerRole } from './account/role.ts'
export {
  generateAccessToken,
  generateToken,
  hashAccessToken,
  hashToken,
  isAccessToken,
} from './account/token.ts'
export {
  type Channel,
  type ChannelRule,
  channelOf,
  channelRules,
  channels,
  type Entry,
} from './analytics/channel.ts'
export {
  type EventFilter,
  fulfils,
  type Ordering,
  parseFilter,
  type ScalarValue,
} from './analytics/event-filter.ts'
export {
  type EventColumn,
  PROPERTY_NAMES,
  type PropertyRef,
  parsePropertyName,
  propertyNameOf,
  valueAt,
} from './analytics/property.ts'
export {
  type Catalog,
  compileEventSchema,
  uncheckedProperties,
  usabilityProblems,
  validateEvent,
  validationModeOf,
} from './catalog/event-validation.ts'
export { createSchemaInference } from './catalog/infer-schema.ts'
export { isQuickToCheck, partsOf } from './catalog/schema-safety.ts'
export { unsupportedKeywords } from './catalog/schema-vocabulary.ts'
export {
  type CompiledSelector,
  compileSelector,
  conversionsOf,
  meterEvent,
} from './conversion/metering.ts'
export { type CouponOutcome, discountCart, exceedsBudget } from './coupon/cart-discount.ts'
export { type Cart, type CartPool, type GrantedBefore, isCountable, needsCart } from './coupon/cart-rules.ts'
export {
  alphabetProblems,
  type CodeSpace,
  chosenCode,
  DEFAULT_ALPHABET,
  DEFAULT_CODE_LENGTH,
  displayCode,
  drawCodes,
  guessabilityProblems,
  normalizeCode,
  normalizeCodePrefix,
} from './coupon/code.ts'
export { grantedBefore, type OrderRedemption } from './coupon/granted-before.ts'
export { type CouponState, cartRefusalMessage, refusalMessage, refusalOf } from './coupon/refusal.ts'
export { returnedDiscount } from './coupon/returned-discount.ts'
export { decisionProblems } from './decision/check-decision.ts'
export { type Comparison, compareRates, rateOf } from './decision/compare-rates.ts'
export {
  type CompiledDecision,
  compileDecision,
  createDecisionSet,
  type DecisionSet,
} from './decision/compiled-decision.ts'
export {
  compileCondition,
  countsOf,
  type DayCount,
  firstDayOf,
  MAX_COUNT_DAYS,
  missingIn,
  segmentsIn,
} from './decision/condition.ts'
export {
  type Choice,
  createDecider,
  isDeciding,
  type RuleOutcome,
} from './decision/decide.ts'
export { countingIdOf, inEachEnvironment, inEnvironment } from './decision/environment.ts'
export {
  type CompiledSegment,
  compileSegment,
  createSegmentSet,
  eventsCountedBy,
  isInSegment,
  MAX_SEGMENT_BYTES,
  type Segment,
  type SegmentCount,
  type SegmentPerson,
  segmentProblems,
  type TraitFilter,
} from './decision/segment.ts'
export { type KnownPerson, type Subject, subjectOf } from './decision/subject.ts'
export { type DecisionWarning, reshufflesOf, writeDecision } from './decision/write-decision.ts'
export {
  comparableAddress,
  emailAddressIn,
  parseMailbox,
  spellingsOf,
} from './email/address.ts'
export {
  compileMessage,
  type MessageContext,
  type MessageTemplates,
  type RenderedMessage,
  TemplateError,
} from './email/message-template.ts'
export { DEFAULT_RETRY_PLAN, nextAttemptIn, type RetryPlan } from './email/retry.ts'
export { parseSender, type Sender, sendersOf } from './email/sender.ts'
export { type CompiledTrigger, compileTrigger, triggersFiredBy } from './email/trigger.ts'
export { deliveryOfToken, unsubscribeToken } from './email/unsubscribe-token.ts'
export { enrichEvent } from './enrichment/enrich-event.ts'
export { clientNetworkOf, normalisedIp, storableIp, truncateIp } from './enrichment/ip-address.ts'
export { urlHostOf } from './enrichment/page.ts'
export { type Locate, locateNowhere, type Place } from './enrichment/place.ts'
export { describeUserAgent, isAppAgent, type UserAgent } from './enrichment/user-agent.ts'
export type { Sample } from './experiment/estimate.ts'
export {
  type ExperimentData,
  type ExperimentResults,
  type ExperimentWarning,
  experimentResults,
} from './experiment/experiment-results.ts'
export type { SplitGroup } from './experiment/sample-ratio.ts'
export {
  chargeWork,
  currentWork,
  currentWorkEnder,
  ownerOfProject,
  requireOngoingWork,
  runAsProcess,
  runAsWork,
  type WorkKind,
} from './fairness/current-work.ts'
export {
  createFairQueue,
  type FairQueue,
  type FairQueueOptions,
  type Lane,
  type Release,
  type WorkOwner,
} from './fairness/fair-queue.ts'
export { type CheckedTraits, checkTraits, traitsProblem } from './identity/check-traits.ts'
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
} from './identity/link.ts'
export { memberSize } from './identity/member-size.ts'
export { mergeTouches, noTouches, type Touches, touchesOf } from './identity/touch.ts'
export {
  exceedsProfile,
  mergeTraits,
  mergeTraitsThatFit,
  noTraits,
  protectedTraits,
  type TraitState,
  type TraitWrite,
  writtenTraits,
} from './identity/trait-state.ts'
export { generateIdentitySecret, isUserHash, userHashOf } from './identity/user-hash.ts'
export {
  type Acceptance,
  type AcceptanceContext,
  acceptEvent,
  isMissingId,
  readSentAt,
  type SentAt,
  sampleOf,
} from './ingestion/accept-event.ts'
export { eventKeyOf, redemptionEventId } from './ingestion/event-key.ts'
export { completeEvent, ingestRecordOf, partitionKeyOf } from './ingestion/ingest-record.ts'
export { canonicalJson } from './json/canonical-json.ts'
export { holdsNumberOutOfRange, isDeeperThan, parseClientJson } from './json/client-json.ts'
export { createPatch, type PatchOperation } from './json/json-patch.ts'
export { JsonLimitError, parseInPieces } from './json/json-pieces.ts'
export { withIntegersAsText } from './json/number-source.ts'
export { isAllowedOrigin, isOriginPattern } from './key/allowed-origin.ts'
export { generateApiKey, parseApiKey, scopeAllows, secretMatches } from './key/api-key.ts'
export { clickTimeOf, createClickIds, parseClickId, variantNumberOf } from './link/click-id.ts'
export { codeProblem, generateCode, LINK_CODE, visitedCode } from './link/code.ts'
export {
  addressFor,
  checkDestination,
  type PreparedDestination,
  prepareDestination,
} from './link/destination.ts'
export { type LinkReference, linkClaimOf } from './link/link-reference.ts'
export { type LinkEnd, linkStateAt } from './link/link-state.ts'
export { describeVisitor, fitsTarget, type LinkVisitor } from './link/link-target.ts'
export { attributeTo, DEFAULT_ATTRIBUTION_DAYS, type LinkTouch, mergeLinkTouches } from './link/link-touch.ts'
export { MAX_VARIANT_KEYS, variantFor } from './link/link-variant.ts'
export { isPreviewBot } from './link/preview-bot.ts'
export { logicData, logicProblems } from './logic/compile-logic.ts'
export { WorkBudget } from './logic/work-budget.ts'
export {
  readSegmentMessage,
  type SegmentCall,
  type SegmentEvent,
  type SegmentMessage,
  type SegmentPersonChange,
  STRUCTURE_RULE,
  segmentCalls,
  segmentProblem,
} from './segment-protocol/read-message.ts'
export { escapeHtml } from './text/escape-html.ts'
export {
  auditMessage,
  type CompiledWebhook,
  compileWebhook,
  decisionMessage,
  emailMessage,
  eventMessages,
  isFor,
  linkClickMessage,
  redemptionMessage,
  type StoredWebhook,
  type WebhookMessage,
} from './webhook/message.ts'
export { isPublicAddress } from './webhook/public-address.ts'
export { generateWebhookSecret } from './webhook/secret.ts'

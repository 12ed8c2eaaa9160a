export type { AccountMailKind } from './account-mail.ts'
export { type ApiKeyKind, type ApiKeyScope, apiKeyScopes } from './api-key.ts'
export { AppError, type ErrorCode, storeUnavailable } from './app-error.ts'
export { BusUnavailableError } from './bus-unavailable-error.ts'
export { CLIENT_TIME_WORDS, readClientTime, rfc3339OfClientTime } from './client-time.ts'
export {
  type ConfigurationKind,
  type ConfigurationResource,
  configurationFields,
  configurationKinds,
  configurationResources,
  configurationView,
  notConfiguration,
} from './configuration.ts'
export * from './coupon.ts'
export { currencyOf } from './currency.ts'
export type {
  Decision,
  DecisionDefinition,
  DecisionEnvironment,
  DecisionMetric,
  DecisionParts,
  DecisionRule,
  DecisionStatus,
  DecisionVariant,
} from './decision-definition.ts'
export { decisionStatuses, MAX_RAMP_STEPS } from './decision-definition.ts'
export * from './email.ts'
export {
  canonicalAddress,
  canonicalDomain,
  deliverableAddress,
  isEmailAddress,
} from './email-address.ts'
export { builtInEnvironments, MAX_OWN_ENVIRONMENTS, PRODUCTION } from './environment.ts'
export * from './http/access-tokens.ts'
export type { AccountView, ProjectView, TenantView, UserView } from './http/account-parts.ts'
export * from './http/accounts.ts'
export * from './http/analytics.ts'
export {
  DEFAULT_ANALYTICS_GROUPS,
  EARLIEST_ANALYTICS_TIME,
  type FilterOperator,
  type FilterRequest,
  Filters,
  LATEST_ANALYTICS_TIME,
  MAX_ANALYTICS_DAYS,
  MAX_ANALYTICS_GROUPS,
  MAX_FILTER_TEXT_LENGTH,
  MAX_FILTER_VALUES,
  MAX_FILTERS,
  MAX_PROPERTY_NAME_LENGTH,
  MAX_QUERIES_PER_PROJECT,
  QUERY_TIMEOUT_MS,
} from './http/analytics-parts.ts'
export * from './http/api-keys.ts'
export * from './http/audit-log.ts'
export * from './http/cart.ts'
export { closeObjects } from './http/close-objects.ts'
export * from './http/conversions.ts'
export * from './http/coupon-operations.ts'
export * from './http/coupon-pools.ts'
export {
  AttemptView,
  type Budget,
  type CouponRules,
  CouponView,
  type Discount,
  type GrantedItem,
  MAX_RULE_NAMES,
  MAX_RULES_BYTES,
  PoolView,
  RedemptionView,
} from './http/coupon-views.ts'
export * from './http/coupons.ts'
export * from './http/dead-letters.ts'
export * from './http/decide.ts'
export * from './http/decisions.ts'
export * from './http/documentation.ts'
export {
  type Change,
  conditionalEffects,
  constantEffects,
  type DeclaredEffect,
  type Effect,
  effectRequirements,
} from './http/effects.ts'
export * from './http/email-deliveries.ts'
export * from './http/email-feedback.ts'
export * from './http/email-senders.ts'
export * from './http/email-triggers.ts'
export * from './http/environments.ts'
export * from './http/event-definitions.ts'
export * from './http/events.ts'
export {
  type IdentifyRequest,
  type IdentifyResult,
  identifyRequest,
  MAX_IDENTIFY_BODY_BYTES,
  MAX_PROFILE_TRAITS_BYTES,
  MAX_TRAIT_NAME_LENGTH,
  MAX_TRAITS_BYTES,
  MAX_TRAITS_DEPTH,
  type ProfileRequest,
  type ProfileResult,
  profileRequest,
  type Traits,
} from './http/identify.ts'
export * from './http/ingestion-operations.ts'
export * from './http/insights.ts'
export * from './http/invitations.ts'
export * from './http/link-domains.ts'
export { MAX_DESTINATION_LENGTH } from './http/link-parts.ts'
export {
  type LinkCampaignStatsView,
  type LinkStatsQuery,
  type LinkStatsView,
  MAX_STATS_DAYS,
} from './http/link-stats.ts'
export * from './http/links.ts'
export * from './http/members.ts'
export * from './http/metering-selectors.ts'
export * from './http/oidc.ts'
export { answersOf, openApiDocument } from './http/openapi.ts'
export {
  type Access,
  type Answer,
  type AnswerOf,
  type Answers,
  defineOperation,
  type Endpoint,
  MAX_BODY_PART_CHARACTERS,
  MAX_BODY_PART_VALUES,
  MAX_BODY_VALUES,
  missingCredentials,
  type Operation,
  type RequestPart,
} from './http/operation.ts'
export { operations } from './http/operations.ts'
export { MAX_PAGE_BYTES } from './http/page.ts'
export { pick } from './http/pick.ts'
export * from './http/pipeline-stats.ts'
export * from './http/profile-view.ts'
export * from './http/projects.ts'
export * from './http/redemptions.ts'
export * from './http/rejected-events.ts'
export { MAX_REPLAY_RECORDS, type ReplayResult } from './http/replay.ts'
export { queryExamples, requestExamples } from './http/request-examples.ts'
export * from './http/second-factor.ts'
export * from './http/segment-protocol.ts'
export * from './http/segments.ts'
export * from './http/session-cookie.ts'
export * from './http/settings.ts'
export * from './http/stats.ts'
export * from './http/suppressions.ts'
export * from './http/tenants.ts'
export {
  MAX_BACKFILL_EVENTS,
  MAX_EVENT_BYTES,
  MAX_EVENT_DEPTH,
  MAX_EVENTS_PER_REQUEST,
  MAX_TRACK_BODY_BYTES,
  TrackedEvent,
  trackedEvent,
} from './http/track-request.ts'
export type {
  AsyncTrackResult,
  EventErrors,
  InvalidEvent,
  SyncTrackResult,
  ValidationItem,
} from './http/track-result.ts'
export * from './http/web-analytics.ts'
export * from './http/webhooks.ts'
export type { Log } from './log.ts'
export { isPlaceholderId, PLACEHOLDER_IDS, PLACEHOLDER_KEYWORD } from './placeholder-id.ts'
export {
  describeError,
  mainError,
  memberOf,
  PATTERN_DESCRIPTION,
  show,
  unknownField,
  VISIBLE_KEYWORD,
} from './problem-message.ts'
export { type ProjectRole, projectRoles, scopeForRole } from './project-role.ts'
export { type IpStorage, knownSettings, ProjectSettings, ValidationMode } from './project-settings.ts'
export type {
  AuditRecord,
  ChangedProfile,
  DecisionChange,
  EmailRecord,
  Exposure,
  LinkClick,
} from './records/change-records.ts'
export type { CouponRedemptionRecord } from './records/coupon-redemption.ts'
export type { CompleteEvent, EnrichedEvent, EventLink } from './records/enriched-event.ts'
export type {
  AcceptedEvent,
  ClientDevice,
  ConversionClaim,
  IdentifyRecord,
  IngestRecord,
  MeteringSelector,
  QueuedRecord,
} from './records/ingest-record.ts'
export type { DeadLetter, RejectedEvent } from './records/quarantine-records.ts'
export * from './request-budget.ts'
export { requireNoProblems, requireValid } from './require-valid.ts'
export { dateOfTime, EARLIEST_MS, parseRfc3339, utcOfTime } from './rfc3339.ts'
export { MAX_ID_LENGTH, OWN_EVENT_ID_PREFIX } from './schema-parts.ts'
export {
  auditRecords,
  type ConsumerGroup,
  changedProfiles,
  consumerGroups,
  couponsRedeemed,
  deadLetters,
  decisionChanges,
  enrichedEvents,
  exposures,
  ingestRecords,
  linkClicks,
  rejectedEvents,
  sentEmails,
  type Topic,
  topics,
} from './topics.ts'
export { traceHeadersOf, traceIdOf } from './trace-context.ts'
export {
  compileValidator,
  hasVisibleCharacter,
  type SchemaProblem,
  type Validator,
  withTextLength,
} from './validator.ts'
export * from './webhook.ts'
export { within } from './within.ts'

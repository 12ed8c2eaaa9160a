export { type ApiKeyKind, type ApiKeyScope, apiKeyScopes } from './api-key.ts'
export { AppError, type ErrorCode } from './app-error.ts'
export {
  type IdentifyRequest,
  type IdentifyResult,
  identifyRequest,
  MAX_IDENTIFY_BODY_BYTES,
  MAX_TRAIT_NAME_LENGTH,
  MAX_TRAITS_BYTES,
  MAX_TRAITS_DEPTH,
  type ProfileRequest,
  type ProfileResult,
  profileRequest,
  type Traits,
} from './http/identify.ts'
export type { ProfileView, Touch } from './http/profile-view.ts'
export {
  MAX_EVENT_BYTES,
  MAX_EVENT_DEPTH,
  MAX_EVENTS_PER_REQUEST,
  MAX_TRACK_BODY_BYTES,
  type TrackedEvent,
  trackedEvent,
} from './http/track-request.ts'
export type {
  AsyncTrackResult,
  EventErrors,
  InvalidEvent,
  SyncTrackResult,
  ValidationItem,
} from './http/track-result.ts'
export type { Log } from './log.ts'
export { type IpStorage, ProjectSettings, projectSettings, ValidationMode } from './project-settings.ts'
export type { ConversionClaim, MeteringSelector } from './records/conversion-claim.ts'
export type { DeadLetter } from './records/dead-letter.ts'
export type { EnrichedEvent, EventContext } from './records/enriched-event.ts'
export type { IdentifyRecord, QueuedRecord } from './records/identify-record.ts'
export type { AcceptedEvent, IngestRecord } from './records/ingest-record.ts'
export type { RejectedEvent } from './records/rejected-event.ts'
export { deadLetters, enrichedEvents, ingestRecords, rejectedEvents, type Topic, topics } from './topics.ts'
export { compileValidator, type SchemaProblem, type Validator } from './validator.ts'

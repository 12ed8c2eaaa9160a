export { type ApiKeyKind, type ApiKeyScope, apiKeyScopes } from './api-key.ts'
export { AppError, type ErrorCode } from './app-error.ts'
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
export type { DeadLetter } from './records/dead-letter.ts'
export type { EnrichedEvent, EventContext } from './records/enriched-event.ts'
export type { AcceptedEvent, IngestRecord } from './records/ingest-record.ts'
export { deadLetters, enrichedEvents, ingestRecords, type Topic, topics } from './topics.ts'
export { compileValidator, type SchemaProblem, type Validator } from './validator.ts'

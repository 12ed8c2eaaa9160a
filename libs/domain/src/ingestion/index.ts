export {
  type Acceptance,
  type AcceptanceContext,
  acceptEvent,
  isMissingId,
  readSentAt,
  type SentAt,
  sampleOf,
} from './accept-event.ts'
export { eventKeyOf, redemptionEventId } from './event-key.ts'
export { completeEvent, ingestRecordOf, partitionKeyOf } from './ingest-record.ts'

export {
  type Acceptance,
  type AcceptanceContext,
  acceptEvent,
  isMissingId,
  readSentAt,
  type SentAt,
  sampleOf,
} from './accept-event.ts'
export {
  completeEvent,
  eventKeyOf,
  ingestRecordOf,
  movementEventId,
  partitionKeyOf,
  redemptionEventId,
} from './ingest-record.ts'

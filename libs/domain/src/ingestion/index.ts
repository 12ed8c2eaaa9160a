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
  partitionKeyOf,
  redemptionEventId,
} from './ingest-record.ts'

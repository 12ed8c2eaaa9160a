import { type Static, Type } from 'typebox'
import { ValidationItem } from '../http/track-result.ts'
import { Id, Timestamp } from '../schema-parts.ts'
import { IngestRecord } from './ingest-record.ts'

/** `ingest.rejected.v1`: an event that the mode `enforce` rejected, and the errors. */
export const RejectedEvent = Type.Object({
  v: Type.Literal(1),
  id: Id,
  record: IngestRecord,
  errors: Type.Array(ValidationItem),
  rejectedAt: Timestamp,
})
export type RejectedEvent = Static<typeof RejectedEvent>

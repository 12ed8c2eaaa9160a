import { type Static, Type } from 'typebox'
import { ValidationItem } from '../http/track-result.ts'
import { Id, NullableString, StringMap, Timestamp } from '../schema-parts.ts'
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

/** `dead-letters.v1`: a record that a consumer group could not process, and the reason. */
export const DeadLetter = Type.Object({
  v: Type.Literal(1),
  group: Type.String(),
  topic: Type.String(),
  partition: Type.Integer({ minimum: 0 }),
  /** The offset in decimal, because it may exceed the range of JSON numbers. */
  offset: Type.String({ pattern: '^\\d+$' }),
  key: NullableString,
  /** The bytes of the record in base64. */
  value: Type.String(),
  headers: StringMap,
  reason: Type.String(),
  failedAt: Timestamp,
})
export type DeadLetter = Static<typeof DeadLetter>

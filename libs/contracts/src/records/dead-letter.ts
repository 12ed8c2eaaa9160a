import { type Static, Type } from 'typebox'
import { NullableString, StringMap, Timestamp } from '../schema-parts.ts'

/** `dead-letters.v1`: a record that a consumer group could not process, with why. */
export const DeadLetter = Type.Object({
  v: Type.Literal(1),
  group: Type.String(),
  topic: Type.String(),
  partition: Type.Integer({ minimum: 0 }),
  /** The record's offset, in decimal: it may exceed what a JSON number holds. */
  offset: Type.String({ pattern: '^\\d+$' }),
  key: NullableString,
  /** The record's bytes in base64, since they may be anything. */
  value: Type.String(),
  headers: StringMap,
  reason: Type.String(),
  failedAt: Timestamp,
})
export type DeadLetter = Static<typeof DeadLetter>

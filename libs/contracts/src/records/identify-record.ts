import { type Static, Type } from 'typebox'
import { Id, JsonObject, Timestamp } from '../schema-parts.ts'
import { CompactRecord, IngestRecord } from './ingest-record.ts'

/** That a visitor is a user, with what is known of them. In `ingest.records.v1` only when Postgres was away. */
export const IdentifyRecord = Type.Object({
  v: Type.Literal(1),
  kind: Type.Literal('identify'),
  /** Its own id, UUIDv7: which of two writes at the same time is the later one. */
  id: Id,
  projectId: Id,
  receivedAt: Timestamp,
  visitorId: Type.String(),
  userId: Type.String(),
  /** Checked traits; `null` unsets one. */
  traits: JsonObject,
})
export type IdentifyRecord = Static<typeof IdentifyRecord>

/** What `ingest.records.v1` carries. */
export type QueuedRecord = CompactRecord | IngestRecord | IdentifyRecord

const fieldIs = (field: string, value: unknown) => ({
  type: 'object',
  properties: { [field]: { const: value } },
  required: [field],
})

// By what it says that it is and not by trying all, so that a problem is told of the right one.
export const QueuedRecord = Type.Unsafe<QueuedRecord>({
  type: 'object',
  if: fieldIs('kind', 'identify'),
  // biome-ignore lint/suspicious/noThenProperty: JSON Schema calls it so
  then: IdentifyRecord,
  // biome-ignore lint/suspicious/noThenProperty: JSON Schema calls it so
  else: { type: 'object', if: fieldIs('v', 2), then: CompactRecord, else: IngestRecord },
})

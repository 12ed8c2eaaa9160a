import { type Static, Type } from 'typebox'
import { ValidationItem } from '../http/track-result.ts'
import { IpStorage } from '../project-settings.ts'
import { Id, JsonObject, NullableString, StringMap, Timestamp } from '../schema-parts.ts'
import { ConversionClaim } from './conversion-claim.ts'

/** An event after the gateway: its structure is checked, and it has an id. A field without a value is left out. */
export const AcceptedEvent = Type.Object({
  eventId: Type.String(),
  eventName: Type.String(),
  properties: JsonObject,
  visitorId: Type.Optional(Type.String()),
  userId: Type.Optional(Type.String()),
  sessionId: Type.Optional(Type.String()),
  clientTimestamp: Type.Optional(Type.String()),
  shortLinkId: Type.Optional(Type.String()),
  shortLinkCode: Type.Optional(Type.String()),
  clickIds: Type.Optional(StringMap),
})
export type AcceptedEvent = Static<typeof AcceptedEvent>

/** The device that an event came from. The address is complete here; enrichment truncates it. */
export const ClientDevice = Type.Object({ ip: NullableString, userAgent: NullableString })
export type ClientDevice = Static<typeof ClientDevice>

/** `ingest.records.v1`: one accepted event on its way to enrichment. A field without a value is left out. */
export const IngestRecord = Type.Object({
  v: Type.Literal(1),
  kind: Type.Literal('event'),
  projectId: Id,
  receivedAt: Timestamp,
  event: AcceptedEvent,
  /** When the client sent the request by its own clock, if it said so. */
  sentAt: Type.Optional(Type.String()),
  client: Type.Optional(ClientDevice),
  /** What of the address may be stored, by the project's setting at receipt; `truncate` when absent. */
  ipStorage: Type.Optional(IpStorage),
  /** Whether it is about the past: nothing is triggered by it. */
  backfill: Type.Optional(Type.Literal(true)),
  warnings: Type.Optional(Type.Array(ValidationItem)),
  /** The conversions that it is; with any, it has to be on the bus before its sender gets an answer. */
  conversions: Type.Optional(Type.Array(ConversionClaim)),
})
export type IngestRecord = Static<typeof IngestRecord>

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
  /** Whether a secret key or a user hash vouches for the user. Absent in records of older gateways: it is not known. */
  verified: Type.Optional(Type.Boolean()),
})
export type IdentifyRecord = Static<typeof IdentifyRecord>

/** What `ingest.records.v1` carries. */
export type QueuedRecord = IngestRecord | IdentifyRecord

// Chosen by `kind` instead of `anyOf`, so that a problem names a field of the right record.
export const QueuedRecord = Type.Unsafe<QueuedRecord>({
  type: 'object',
  if: { type: 'object', properties: { kind: { const: 'identify' } }, required: ['kind'] },
  // biome-ignore lint/suspicious/noThenProperty: JSON Schema calls it so
  then: IdentifyRecord,
  else: IngestRecord,
})

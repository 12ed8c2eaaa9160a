import { type Static, Type } from 'typebox'
import { ValidationItem } from '../http/track-result.ts'
import { IpStorage } from '../project-settings.ts'
import { Id, JsonObject, NullableString, StringMap, Timestamp } from '../schema-parts.ts'

/** An event that the gateway has validated and given an id. Fields without a value are left out. */
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

/** The client of an event. Enrichment truncates the address. */
export const ClientDevice = Type.Object({
  ip: NullableString,
  userAgent: NullableString,
  /** Whether it is an app, whose HTTP library is no bot. */
  isApp: Type.Optional(Type.Literal(true)),
})
export type ClientDevice = Static<typeof ClientDevice>

/** A conversion by one selector. The gateway determines it, and it counts once the event is stored. */
export const ConversionClaim = Type.Object({
  selectorId: Id,
  /** In minor units of the currency. */
  amount: Type.Unsafe<number | null>({ type: ['integer', 'null'] }),
  currency: NullableString,
  quantity: Type.Unsafe<number | null>({ type: ['number', 'null'] }),
})
export type ConversionClaim = Static<typeof ConversionClaim>

/** Selects the events that are conversions, and the properties of their amount, currency and quantity. */
export type MeteringSelector = {
  id: string
  eventName: string
  /** JsonLogic over `{ event, properties }`. Null matches every event of that name. */
  filter: unknown
  amountProperty: string | null
  currencyProperty: string | null
  quantityProperty: string | null
}

/** `ingest.records.v1`: an accepted event for enrichment. Fields without a value are left out. */
export const IngestRecord = Type.Object({
  v: Type.Literal(1),
  kind: Type.Literal('event'),
  projectId: Id,
  receivedAt: Timestamp,
  event: AcceptedEvent,
  /** When the client sent the request, by its clock. */
  sentAt: Type.Optional(Type.String()),
  client: Type.Optional(ClientDevice),
  /** The project's setting for addresses at receipt. Default: `truncate`. */
  ipStorage: Type.Optional(IpStorage),
  /** Whether it comes from a backfill, and so triggers nothing. */
  backfill: Type.Optional(Type.Literal(true)),
  warnings: Type.Optional(Type.Array(ValidationItem)),
  /** Its conversions. A record with conversions is published before the client gets an answer. */
  conversions: Type.Optional(Type.Array(ConversionClaim)),
})
export type IngestRecord = Static<typeof IngestRecord>

/** An identify call. It is published to `ingest.records.v1` only while PostgreSQL is unavailable. */
export const IdentifyRecord = Type.Object({
  v: Type.Literal(1),
  kind: Type.Literal('identify'),
  /** A UUIDv7, which orders writes of the same time. */
  id: Id,
  projectId: Id,
  receivedAt: Timestamp,
  /** When the link and the traits were true, for those of the past. Default: `receivedAt`. */
  happenedAt: Type.Optional(Timestamp),
  visitorId: Type.String(),
  userId: Type.String(),
  /** Checked traits. `null` unsets one. */
  traits: JsonObject,
  /** Whether a secret key or a user hash authenticates the user. Absent in records of older gateways. */
  verified: Type.Optional(Type.Boolean()),
})
export type IdentifyRecord = Static<typeof IdentifyRecord>

/** A record of `ingest.records.v1`. */
export type QueuedRecord = IngestRecord | IdentifyRecord

// Selected by `kind` instead of `anyOf`, so that an error names a field of the right record.
export const QueuedRecord = Type.Unsafe<QueuedRecord>({
  type: 'object',
  if: { type: 'object', properties: { kind: { const: 'identify' } }, required: ['kind'] },
  // biome-ignore lint/suspicious/noThenProperty: a keyword of JSON Schema
  then: IdentifyRecord,
  else: IngestRecord,
})

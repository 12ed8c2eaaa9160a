import { type Static, Type } from 'typebox'
import { ValidationItem } from '../http/track-result.ts'
import { IpStorage } from '../project-settings.ts'
import { Id, JsonObject, NullableString, StringMap, Timestamp } from '../schema-parts.ts'
import { ConversionClaim } from './conversion-claim.ts'

/** An event after the gateway: structure checked, id given, everything absent spelled `null` or empty. */
export const AcceptedEvent = Type.Object({
  eventId: Type.String(),
  eventName: Type.String(),
  visitorId: NullableString,
  userId: NullableString,
  sessionId: NullableString,
  properties: JsonObject,
  clientTimestamp: NullableString,
  shortLinkId: NullableString,
  shortLinkCode: NullableString,
  clickIds: StringMap,
})
export type AcceptedEvent = Static<typeof AcceptedEvent>

/** One accepted event on its way to enrichment; `ingest.records.v1` also carries it as a `CompactRecord`. */
export const IngestRecord = Type.Object({
  v: Type.Literal(1),
  kind: Type.Literal('event'),
  projectId: Id,
  receivedAt: Timestamp,
  /** When the client sent the request by its own clock, if it said so. */
  sentAt: NullableString,
  /** Whose device it was: the address is complete here and is truncated by enrichment. */
  client: Type.Object({ ip: NullableString, userAgent: NullableString }),
  /** What of the address may be stored, by the project's setting at receipt. */
  ipStorage: IpStorage,
  /** Whether it tells of the past: nothing is to be triggered by it. */
  backfill: Type.Boolean(),
  event: AcceptedEvent,
  warnings: Type.Array(ValidationItem),
  /** The conversions that it is; with any, it has to be on the bus before its sender gets an answer. */
  conversions: Type.Array(ConversionClaim),
})
export type IngestRecord = Static<typeof IngestRecord>

/**
 * `ingest.records.v1`: an `IngestRecord` without what is null, empty, `false` or, of `ipStorage`, `truncate`. Most fields
 * of most events are, and writing them is a large part of the gateway's work.
 */
export const CompactRecord = Type.Object({
  v: Type.Literal(2),
  kind: Type.Literal('event'),
  projectId: Id,
  receivedAt: Timestamp,
  sentAt: Type.Optional(Type.String()),
  client: Type.Optional(IngestRecord.properties.client),
  ipStorage: Type.Optional(IpStorage),
  backfill: Type.Optional(Type.Literal(true)),
  event: Type.Object({
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
  }),
  warnings: Type.Optional(IngestRecord.properties.warnings),
  conversions: Type.Optional(IngestRecord.properties.conversions),
})
export type CompactRecord = Static<typeof CompactRecord>

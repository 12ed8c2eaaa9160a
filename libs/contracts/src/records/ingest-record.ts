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

/** `ingest.records.v1`: one accepted event on its way to enrichment. */
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

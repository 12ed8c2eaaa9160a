import { type Static, Type } from 'typebox'
import { ValidationItem } from '../http/track-result.ts'
import { Id, JsonObject, NullableString, StringMap, Timestamp } from '../schema-parts.ts'
import { ConversionClaim } from './ingest-record.ts'

/** An event in the public stream and the API. It has all fields; missing values are `null` or empty. */
export const CompleteEvent = Type.Object({
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
export type CompleteEvent = Static<typeof CompleteEvent>

/** The short link that an event is attributed to, and the click if known. */
export const EventLink = Type.Object({
  id: Id,
  code: Type.String(),
  campaign: NullableString,
  clickId: NullableString,
  /** The key of the variant that the click led to. Absent without one. */
  variant: Type.Optional(Type.String()),
})
export type EventLink = Static<typeof EventLink>

/** The origin of an event. `null` means unknown. */
const EventContext = Type.Object({
  bot: Type.Boolean(),
  browser: NullableString,
  browserVersion: NullableString,
  os: NullableString,
  osVersion: NullableString,
  device: NullableString,
  country: NullableString,
  city: NullableString,
  /** Truncated to its network: /24 for IPv4, /48 for IPv6. */
  ip: NullableString,
  url: NullableString,
  path: NullableString,
  referrer: NullableString,
  referrerHost: NullableString,
  utm: Type.Object({
    source: NullableString,
    medium: NullableString,
    campaign: NullableString,
    term: NullableString,
    content: NullableString,
  }),
  clickIds: StringMap,
  /** Absent without a known link. */
  shortLink: Type.Optional(EventLink),
})

/** `events.enriched.v1`: the public stream of stored events. Subscribers deduplicate by (projectId, eventId). */
export const EnrichedEvent = Type.Object({
  v: Type.Literal(1),
  projectId: Id,
  ...CompleteEvent.properties,
  receivedAt: Timestamp,
  /** When it happened, corrected by the offset of the client's clock. */
  timestamp: Timestamp,
  profileId: NullableString,
  backfill: Type.Boolean(),
  warnings: Type.Array(ValidationItem),
  conversions: Type.Array(ConversionClaim),
  context: EventContext,
})
export type EnrichedEvent = Static<typeof EnrichedEvent>

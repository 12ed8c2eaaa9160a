import { createHash } from 'node:crypto'
import type { ValidationItem } from '@waymark/contracts/http/track-result'
import type { ProjectSettings } from '@waymark/contracts/project-settings'
import type { CompleteEvent } from '@waymark/contracts/records/enriched-event'
import type {
  AcceptedEvent,
  ClientDevice,
  ConversionClaim,
  IngestRecord,
} from '@waymark/contracts/records/ingest-record'
import { OWN_EVENT_ID_PREFIX } from '@waymark/contracts/schema-parts'
import { stringify, validate } from 'uuid'

/** Data of the request that an event came with. */
export type Receipt = {
  receivedAt: string
  sentAt?: string | null
  client: ClientDevice
  backfill?: boolean
  warnings?: ValidationItem[]
  conversions: ConversionClaim[]
}

/** The record of an event for enrichment. Fields without a value are left out. */
export const ingestRecordOf = (
  event: AcceptedEvent,
  { projectId, settings }: { projectId: string; settings: ProjectSettings },
  { receivedAt, sentAt, client, backfill, warnings, conversions }: Receipt,
): IngestRecord => {
  const record: IngestRecord = { v: 1, kind: 'event', projectId, receivedAt, event }
  const { ipStorage = 'truncate' } = settings
  if (typeof sentAt === 'string') record.sentAt = sentAt
  if (client.ip !== null || client.userAgent !== null) record.client = client
  if (ipStorage !== 'truncate') record.ipStorage = ipStorage
  if (backfill) record.backfill = backfill
  if (warnings && warnings.length > 0) record.warnings = warnings
  if (conversions.length > 0) record.conversions = conversions
  return record
}

/** An event with all fields. Missing ones are `null` or empty. */
export const completeEvent = (event: AcceptedEvent): CompleteEvent => ({
  eventId: event.eventId,
  eventName: event.eventName,
  visitorId: event.visitorId ?? null,
  userId: event.userId ?? null,
  sessionId: event.sessionId ?? null,
  properties: event.properties,
  clientTimestamp: event.clientTimestamp ?? null,
  shortLinkId: event.shortLinkId ?? null,
  shortLinkCode: event.shortLinkCode ?? null,
  clickIds: event.clickIds ?? {},
})

/** The record key `projectId:id`, which keeps the records of a person in order: by visitor, else user, else event. */
export const partitionKeyOf = (
  projectId: string,
  event: { visitorId?: string | null; userId?: string | null; eventId: string },
): string => `${projectId}:${event.visitorId ?? event.userId ?? event.eventId}`

/**
 * The key under which an event is stored once per project: the id itself when it is a UUID, otherwise the first 128
 * bits of the SHA-256 of the id.
 */
export const eventKeyOf = (eventId: string): string => {
  if (validate(eventId)) return eventId.toLowerCase()
  const digest = createHash('sha256').update(eventId).digest()
  // Version 8 marks a hash of our own, so that it never equals a UUID that a client generated.
  digest.writeUInt8((digest.readUInt8(6) & 0x0f) | 0x80, 6)
  digest.writeUInt8((digest.readUInt8(8) & 0x3f) | 0x80, 8)
  return stringify(digest.subarray(0, 16))
}

/** The id of the `coupon_redeemed` event of a redemption. */
export const redemptionEventId = (redemptionId: string): string =>
  `${OWN_EVENT_ID_PREFIX}redemption:${redemptionId}`

/** The id of the `gift_card_spent` event of a movement. */
export const movementEventId = (movementId: string): string => `${OWN_EVENT_ID_PREFIX}gift-card:${movementId}`

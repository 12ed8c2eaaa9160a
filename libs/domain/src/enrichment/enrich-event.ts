import type { IpStorage } from '@waymark/contracts/project-settings'
import type { EnrichedEvent, EventLink } from '@waymark/contracts/records/enriched-event'
import type { ClientDevice, IngestRecord } from '@waymark/contracts/records/ingest-record'
import { completeEvent } from '../ingestion/ingest-record.ts'
import { CLICK_PARAMETER } from '../link/destination.ts'
import { correctedTime } from './corrected-time.ts'
import { storableIp } from './ip-address.ts'
import { describePage, urlHostOf } from './page.ts'
import { type Locate, locateNowhere } from './place.ts'
import { describeUserAgent, type UserAgent } from './user-agent.ts'

/** Lookups of enrichment, which callers may cache. */
type EnrichmentLookups = {
  describeUserAgent: (header: string | null, isApp?: boolean) => UserAgent
  locate: Locate
}

/**
 * Inputs of enrichment in addition to the record. `profileId` is `null` for an event without a person.
 */
type EnrichmentInputs = Partial<EnrichmentLookups> & {
  profileId: string | null
  shortLink?: EventLink | null
}

/**
 * Enriches an event from its record and lookups. It is deterministic, and used by the consumer and the synchronous path.
 */
export const enrichEvent = (
  record: IngestRecord,
  {
    profileId,
    shortLink,
    describeUserAgent: describe = describeUserAgent,
    locate = locateNowhere,
  }: EnrichmentInputs = {
    profileId: null,
  },
): EnrichedEvent => {
  const { client = UNKNOWN_DEVICE, ipStorage = 'truncate' } = record
  const event = completeEvent(record.event)
  const { url, host, path, utm, clickIds } = describePage(event.properties)
  const referrer = typeof event.properties.referrer === 'string' ? event.properties.referrer : null
  // Nobody comes to a site from its own pages.
  const referrerHost = urlHostOf(referrer)
  const agent = describe(client.userAgent, client.isApp)
  const receivedAtMs = Date.parse(record.receivedAt)
  const happenedAtMs = correctedTime(event.clientTimestamp, record.sentAt ?? null, receivedAtMs)
  return {
    v: 1,
    projectId: record.projectId,
    ...event,
    shortLinkId: shortLink?.id ?? event.shortLinkId,
    shortLinkCode: shortLink?.code ?? event.shortLinkCode,
    properties: withStorableAddress(event.properties, ipStorage),
    receivedAt: record.receivedAt,
    timestamp: new Date(happenedAtMs).toISOString(),
    profileId,
    backfill: record.backfill ?? false,
    warnings: record.warnings ?? [],
    conversions: record.conversions ?? [],
    context: {
      ...agent,
      ...locate(client.ip),
      ip: storableIp(client.ip, ipStorage),
      url,
      path,
      referrer,
      referrerHost: referrerHost === host ? null : referrerHost,
      utm: shortLink ? { ...utm, campaign: utm.campaign ?? shortLink.campaign } : utm,
      clickIds: {
        ...clickIds,
        ...event.clickIds,
        ...(shortLink?.clickId && { [CLICK_PARAMETER]: shortLink.clickId }),
      },
      ...(shortLink && { shortLink }),
    },
  }
}

const UNKNOWN_DEVICE: ClientDevice = { ip: null, userAgent: null }

// Truncates or removes IP addresses in all fields.
const withStorableAddress = (
  properties: Record<string, unknown>,
  storage: IpStorage,
): Record<string, unknown> =>
  (properties.ip ?? null) === null
    ? properties
    : { ...properties, ip: storableAddress(properties.ip, storage) }

const storableAddress = (value: unknown, storage: IpStorage): unknown => {
  if (typeof value === 'string') return storableIp(value, storage)
  if (Array.isArray(value)) return value.map((item) => storableAddress(item, storage))
  // A number or an object may be an address that cannot be truncated.
  return storage === 'keep' ? value : null
}

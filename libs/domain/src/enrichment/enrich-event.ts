import type { ClientDevice, EnrichedEvent, EventLink, IngestRecord, IpStorage } from '@waymark/contracts'
import { completeEvent } from '../ingestion/ingest-record.ts'
import { CLICK_PARAMETER } from '../link/destination.ts'
import { correctedTime } from './corrected-time.ts'
import { storableIp } from './ip-address.ts'
import { describePage, hostOf } from './page.ts'
import { type Locate, locateNowhere } from './place.ts'
import { describeUserAgent, type UserAgent } from './user-agent.ts'

/** Look-ups that enrichment is given, so that callers may cache them. */
export type EnrichmentLookups = {
  describeUserAgent: (header: string | null) => UserAgent
  locate: Locate
}

/**
 * What enrichment is given beside the record; `profileId` is whose event it is, `null` when it names nobody, and
 * `shortLink` the link of the project that led to it.
 */
export type EnrichmentInputs = Partial<EnrichmentLookups> & {
  profileId: string | null
  shortLink?: EventLink | null
}

/**
 * Derives everything that can be known about an event from its record and what is looked up for it. Pure: the consumer
 * and the synchronous path call it alike, and calling it again gives the same event.
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
  const { url, path, utm, clickIds } = describePage(event.properties)
  const referrer = typeof event.properties.referrer === 'string' ? event.properties.referrer : null
  const agent = describe(client.userAgent)
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
      referrerHost: hostOf(referrer),
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

// What is not to be stored of an address is taken away wherever in the event it stands.
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
  // A number or an object may be an address in a form that nobody could cut off.
  return storage === 'keep' ? value : null
}

import type { EnrichedEvent, IngestRecord } from '@waymark/contracts'
import { correctedTime } from './corrected-time.ts'
import { truncateIp } from './ip-address.ts'
import { describePage, hostOf } from './page.ts'
import { describeUserAgent, type UserAgent } from './user-agent.ts'

/** Look-ups that enrichment is given, so that callers may cache them. */
export type EnrichmentLookups = {
  describeUserAgent: (header: string | null) => UserAgent
}

/**
 * Derives everything that can be known about an event from its record alone. Pure: the consumer and the
 * synchronous path call it alike, and calling it again gives the same event.
 */
export const enrichEvent = (
  record: IngestRecord,
  lookups: EnrichmentLookups = { describeUserAgent },
): EnrichedEvent => {
  const { event, client } = record
  const { url, path, utm, clickIds } = describePage(event.properties)
  const referrer = typeof event.properties.referrer === 'string' ? event.properties.referrer : null
  const agent = lookups.describeUserAgent(client.userAgent)
  const receivedAtMs = Date.parse(record.receivedAt)
  const happenedAtMs = correctedTime(event.clientTimestamp, record.sentAt, receivedAtMs)
  return {
    v: 1,
    projectId: record.projectId,
    ...event,
    properties: withoutFullAddress(event.properties),
    receivedAt: record.receivedAt,
    timestamp: new Date(happenedAtMs).toISOString(),
    profileId: null,
    warnings: record.warnings,
    context: {
      ...agent,
      country: null,
      city: null,
      ip: client.ip === null ? null : truncateIp(client.ip),
      url,
      path,
      referrer,
      referrerHost: hostOf(referrer),
      utm,
      clickIds: { ...clickIds, ...event.clickIds },
    },
  }
}

// The address is truncated before it is stored, wherever in the event it stands.
const withoutFullAddress = (properties: Record<string, unknown>): Record<string, unknown> =>
  typeof properties.ip === 'string' ? { ...properties, ip: truncateIp(properties.ip) } : properties

import type { EnrichedEvent, IngestRecord } from '@waymark/contracts'
import { enrichEvent } from '@waymark/domain'
import { v7 as uuidv7 } from 'uuid'

/** An accepted record as the gateway publishes it; what a test does not care about is filled in. */
export const anIngestRecord = ({
  event,
  ...rest
}: Partial<Omit<IngestRecord, 'event'>> & { event?: Partial<IngestRecord['event']> } = {}): IngestRecord => ({
  v: 1,
  kind: 'event',
  projectId: '01900000-0000-7000-8000-000000000001',
  receivedAt: new Date().toISOString(),
  sentAt: null,
  client: { ip: null, userAgent: null },
  ipStorage: 'truncate',
  backfill: false,
  warnings: [],
  conversions: [],
  ...rest,
  event: {
    eventId: uuidv7(),
    eventName: 'page_view',
    visitorId: 'visitor-1',
    userId: null,
    sessionId: null,
    properties: {},
    clientTimestamp: null,
    shortLinkId: null,
    shortLinkCode: null,
    clickIds: {},
    ...event,
  },
})

/** An enriched event, made from a record by the real enrichment. */
export const anEnrichedEvent = (record: Parameters<typeof anIngestRecord>[0] = {}): EnrichedEvent =>
  enrichEvent(anIngestRecord(record))

import type { EnrichedEvent } from '@waymark/contracts/records/enriched-event'
import type { AcceptedEvent, IngestRecord } from '@waymark/contracts/records/ingest-record'
import { enrichEvent } from '@waymark/domain/enrichment'
import { v7 as uuidv7 } from 'uuid'

type Fields = Partial<Omit<IngestRecord, 'event'>> & {
  /** `visitorId: null` removes the default visitor. */
  event?: Partial<Omit<AcceptedEvent, 'visitorId'>> & { visitorId?: string | null }
}

/** A record as the gateway publishes it, with defaults for missing fields. */
export const anIngestRecord = ({
  event: { visitorId = 'visitor-1', ...event } = {},
  ...rest
}: Fields = {}): IngestRecord => ({
  v: 1,
  kind: 'event',
  projectId: '01900000-0000-7000-8000-000000000001',
  receivedAt: new Date().toISOString(),
  ...rest,
  event: {
    eventId: uuidv7(),
    eventName: 'page_view',
    ...(visitorId !== null && { visitorId }),
    properties: {},
    ...event,
  },
})

/** An enriched event, created by the real enrichment. */
export const anEnrichedEvent = (record: Parameters<typeof anIngestRecord>[0] = {}): EnrichedEvent =>
  enrichEvent(anIngestRecord(record))

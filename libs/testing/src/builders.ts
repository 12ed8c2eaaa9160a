import type { AcceptedEvent, EnrichedEvent, IngestRecord } from '@waymark/contracts'
import { enrichEvent } from '@waymark/domain'
import { v7 as uuidv7 } from 'uuid'

type Fields = Partial<Omit<IngestRecord, 'event'>> & {
  /** `visitorId: null` leaves out the visitor that is there otherwise. */
  event?: Partial<Omit<AcceptedEvent, 'visitorId'>> & { visitorId?: string | null }
}

/** An accepted record as the gateway publishes it; what a test does not care about is filled in. */
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

/** An enriched event, made from a record by the real enrichment. */
export const anEnrichedEvent = (record: Parameters<typeof anIngestRecord>[0] = {}): EnrichedEvent =>
  enrichEvent(anIngestRecord(record))

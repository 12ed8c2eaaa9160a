import { randomUUID } from 'node:crypto'
import type { IngestRecord } from '@waymark/contracts/records/ingest-record'
import { partitionKeyOf } from '@waymark/domain/ingestion'
import { v7 as uuidv7 } from 'uuid'

/** A typical event of a shop. */
export const anEvent = () => ({
  eventName: 'page_view',
  visitorId: `visitor-${randomUUID()}`,
  sessionId: 'session-1',
  properties: {
    url: 'https://shop.example/shoes/red?utm_source=news',
    referrer: 'https://www.google.com/',
    title: 'Red shoes',
    price: 4990,
    currency: 'EUR',
  },
})

const AGENT =
  'Mozilla/5.0 (Windows NT 10.0; Win64; x64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/126.0.0.0 Safari/537.36'

/** A record as the gateway publishes it. */
export const aRecord = (projectId: string): IngestRecord => ({
  v: 1,
  kind: 'event',
  projectId,
  receivedAt: new Date().toISOString(),
  client: { ip: '198.51.100.7', userAgent: AGENT },
  event: { ...anEvent(), eventId: uuidv7() },
})

const VISITORS = 10_000
let visits = 0

/** The record of a page view within a visit: neither the person nor a campaign is new. */
export const aPlainRecord = (projectId: string): IngestRecord => {
  const record = aRecord(projectId)
  const { properties } = record.event
  const url = 'https://shop.example/shoes/red'
  return {
    ...record,
    event: {
      ...record.event,
      visitorId: `visitor-${visits++ % VISITORS}`,
      properties: { ...properties, url, referrer: 'https://shop.example/' },
    },
  }
}

/** A record with its key. */
export const outgoing = (record: IngestRecord) => ({
  key: partitionKeyOf(record.projectId, record.event),
  value: record,
})

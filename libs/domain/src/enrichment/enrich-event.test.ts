import { readFileSync } from 'node:fs'
import path from 'node:path'
import type { IngestRecord } from '@waymark/contracts/records/ingest-record'
import { enrichedEvents } from '@waymark/contracts/topics'
import { describe, expect, it } from 'vitest'
import { enrichEvent } from './enrich-event.ts'

const RECEIVED_AT = '2026-11-21T04:00:00.000Z'
const CHROME =
  'Mozilla/5.0 (Windows NT 10.0; Win64; x64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/131.0.0.0 Safari/537.36'

const aRecord = (
  event: Partial<IngestRecord['event']> = {},
  rest: Partial<IngestRecord> = {},
): IngestRecord => ({
  v: 1,
  kind: 'event',
  projectId: '01900000-0000-7000-8000-000000000001',
  receivedAt: RECEIVED_AT,
  ...rest,
  event: {
    eventId: 'order-1',
    eventName: 'ordered',
    visitorId: 'visitor-1',
    userId: 'user-1',
    sessionId: 'session-1',
    properties: {},
    shortLinkCode: 'abc',
    ...event,
  },
})

const golden = (topic: string) =>
  JSON.parse(readFileSync(path.join(import.meta.dirname, `../../../contracts/golden/${topic}.json`), 'utf8'))

describe('enrichEvent', () => {
  it('turns the golden ingest record into the golden enriched event', () => {
    const [record] = golden('ingest.records.v1')
    const [enriched] = golden('events.enriched.v1')
    const { profileId, context } = enriched
    expect(enrichEvent(record, { profileId, shortLink: context.shortLink })).toEqual(enriched)
  })

  it('keeps the event and its warnings unchanged', () => {
    const warnings = [{ field: 'visitorId', rule: 'missing_visitor_id', message: 'visitorId is missing' }]
    const record = aRecord({ properties: { plan: 'free', list: [1, null] } }, { warnings })
    const { context, v, timestamp, profileId, ...kept } = enrichEvent(record)
    expect(kept).toEqual({
      ...record.event,
      clientTimestamp: null,
      shortLinkId: null,
      clickIds: {},
      projectId: record.projectId,
      receivedAt: RECEIVED_AT,
      backfill: false,
      conversions: [],
      warnings,
    })
  })

  it('adds every omitted field with its default', () => {
    const [, , bare] = golden('ingest.records.v1')
    expect(enrichedEvents.validator.check(enrichEvent(bare))).toBeUndefined()
    expect(enrichEvent(bare)).toMatchObject({
      visitorId: null,
      userId: null,
      sessionId: null,
      clientTimestamp: null,
      shortLinkId: null,
      shortLinkCode: null,
      clickIds: {},
      timestamp: bare.receivedAt,
      backfill: false,
      warnings: [],
      conversions: [],
      context: { ip: null, browser: null },
    })
  })

  it('has the profile when it was looked up', () => {
    const profileId = '01900000-0000-7000-8000-00000000000b'
    expect(enrichEvent(aRecord(), { profileId }).profileId).toBe(profileId)
    expect(enrichEvent(aRecord()).profileId).toBeNull()
  })

  it('returns a valid record for any input, deterministically, without changing its input', () => {
    const record = aRecord({ properties: { ip: '203.0.113.77', url: '/?gclid=1' } })
    const before = structuredClone(record)
    const enriched = enrichEvent(record)
    expect(enrichedEvents.validator.check(enriched)).toBeUndefined()
    expect(enrichEvent(record)).toEqual(enriched)
    expect(record).toEqual(before)
  })

  it('has an empty context for an event without context', () => {
    const { context } = enrichEvent(aRecord())
    expect(context).toMatchObject({
      bot: false,
      browser: null,
      ip: null,
      url: null,
      referrer: null,
      clickIds: {},
    })
  })

  it('corrects the time by the clock of the client', () => {
    const clientTimestamp = '2026-11-21T02:59:00.000Z'
    expect(enrichEvent(aRecord({ clientTimestamp })).timestamp).toBe(clientTimestamp)
    const anHourSlow = { sentAt: '2026-11-21T03:00:00.000Z' }
    expect(enrichEvent(aRecord({ clientTimestamp }, anHourSlow))).toMatchObject({
      timestamp: '2026-11-21T03:59:00.000Z',
      clientTimestamp,
      receivedAt: RECEIVED_AT,
    })
  })

  it('stores no complete IP address from any part of the event', () => {
    const client = { ip: '203.0.113.77', userAgent: null }
    const properties = { ip: '2001:db8:1:2::77', other: 'kept' }
    const enriched = enrichEvent(aRecord({ properties }, { client }))
    expect(enriched.context.ip).toBe('203.0.113.0')
    expect(enriched.properties).toEqual({ ip: '2001:db8:1::', other: 'kept' })
  })

  it.each([
    ['unknown', null],
    [7, null],
  ])('stores the property ip %j as %j', (ip, stored) => {
    expect(enrichEvent(aRecord({ properties: { ip } })).properties).toEqual({ ip: stored })
  })

  it('keeps `__proto__` in properties and click ids as a key', () => {
    const own = (text: string) => JSON.parse(text)
    const { properties, context } = enrichEvent(
      aRecord({ properties: own('{"ip":"::1","__proto__":{"a":1}}'), clickIds: own('{"__proto__":"x"}') }),
    )
    expect(JSON.stringify(properties)).toBe('{"ip":"::","__proto__":{"a":1}}')
    expect(JSON.stringify(context.clickIds)).toBe('{"__proto__":"x"}')
  })

  it('derives page, referrer and device', () => {
    const properties = {
      url: 'https://shop.example/cart?utm_source=news&gclid=from-url&fbclid=f',
      referrer: 'https://Search.example/?q=1',
    }
    const { context } = enrichEvent(
      aRecord(
        { properties, clickIds: { gclid: 'from-event', own: 'o' } },
        { client: { ip: null, userAgent: CHROME } },
      ),
    )
    expect(context).toMatchObject({
      path: '/cart',
      referrerHost: 'search.example',
      utm: { source: 'news' },
      browser: 'Chrome',
      device: 'desktop',
    })
    expect(context.clickIds).toEqual({ gclid: 'from-event', fbclid: 'f', own: 'o' })
  })

  it.each([
    ['https://shop.example/cart', null],
    ['https://www.shop.example/cart', 'www.shop.example'],
    [undefined, null],
  ])('has a referrer host unless it is that of the page: %j', (referrer, referrerHost) => {
    const url = 'https://Shop.example:443/thanks'
    const { context } = enrichEvent(aRecord({ properties: { url, ...(referrer && { referrer }) } }))
    expect(context.referrerHost).toBe(referrerHost)
  })

  it('uses the given look-up of places', () => {
    const asked: unknown[] = []
    const agent = { bot: true, browser: 'B', browserVersion: null, os: null, osVersion: null, device: null }
    const describeUserAgent = (header: string | null) => {
      asked.push(header)
      return agent
    }
    const { context } = enrichEvent(aRecord({}, { client: { ip: null, userAgent: 'B/1' } }), {
      profileId: null,
      describeUserAgent,
    })
    expect(context).toMatchObject(agent)
    expect(asked).toEqual(['B/1'])
  })
})

describe('an address among the properties', () => {
  const kept = (ip: unknown, ipStorage: 'keep' | 'truncate' | 'drop') =>
    enrichEvent(aRecord({ properties: { ip } }, { ipStorage })).properties.ip

  it.each([
    ['203.0.113.7', 'truncate', '203.0.113.0'],
    [['203.0.113.7', '2001:db8:1:2::3'], 'truncate', ['203.0.113.0', '2001:db8:1::']],
    [['203.0.113.7', ['203.0.113.8']], 'truncate', ['203.0.113.0', ['203.0.113.0']]],
    [['203.0.113.7'], 'drop', [null]],
    [['203.0.113.7'], 'keep', ['203.0.113.7']],
    [{ v4: '203.0.113.7' }, 'truncate', null],
    [3405803783, 'truncate', null],
    [3405803783, 'keep', 3405803783],
    [null, 'truncate', null],
  ] as const)('%j by %s is stored as %j', (ip, ipStorage, stored) => {
    expect(kept(ip, ipStorage)).toEqual(stored)
  })
})

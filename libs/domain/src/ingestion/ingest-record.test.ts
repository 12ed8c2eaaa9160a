import { readFileSync } from 'node:fs'
import path from 'node:path'
import { type AcceptedEvent, type CompactRecord, type IngestRecord, ingestRecords } from '@waymark/contracts'
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { compactRecordOf, ingestRecordFrom } from './ingest-record.ts'

const bare: IngestRecord = {
  v: 1,
  kind: 'event',
  projectId: '01900000-0000-7000-8000-000000000001',
  receivedAt: '2026-11-21T04:00:00.000Z',
  sentAt: null,
  client: { ip: null, userAgent: null },
  ipStorage: 'truncate',
  backfill: false,
  event: {
    eventId: 'e',
    eventName: 'page_view',
    visitorId: null,
    userId: null,
    sessionId: null,
    properties: {},
    clientTimestamp: null,
    shortLinkId: null,
    shortLinkCode: null,
    clickIds: {},
  },
  warnings: [],
  conversions: [],
}

const text = fc.option(fc.string({ maxLength: 5 }))
const item = fc.record({ field: fc.string(), rule: fc.string(), message: fc.string() })
const claim = fc.record({
  selectorId: fc.uuid(),
  amount: fc.option(fc.integer()),
  currency: text,
  quantity: fc.option(fc.integer()),
})
const map = fc.dictionary(fc.string({ minLength: 1, maxLength: 5 }), fc.string({ maxLength: 5 }), {
  maxKeys: 2,
})
/** Every field that there is: what a round trip loses is found only then. */
const anyRecord: fc.Arbitrary<Required<IngestRecord> & { event: Required<AcceptedEvent> }> = fc.record({
  v: fc.constant(1 as const),
  kind: fc.constant('event' as const),
  projectId: fc.constant(bare.projectId),
  receivedAt: fc.constant(bare.receivedAt),
  sentAt: text,
  client: fc.record({ ip: text, userAgent: text }),
  ipStorage: fc.constantFrom('keep', 'truncate', 'drop'),
  backfill: fc.boolean(),
  event: fc.record({
    eventId: fc.string(),
    eventName: fc.string(),
    visitorId: text,
    userId: text,
    sessionId: text,
    properties: map,
    clientTimestamp: text,
    shortLinkId: text,
    shortLinkCode: text,
    clickIds: map,
  }),
  warnings: fc.array(item, { maxLength: 2 }),
  conversions: fc.array(claim, { maxLength: 2 }),
})

const sent = (record: IngestRecord): unknown => JSON.parse(JSON.stringify(compactRecordOf(record)))

describe('a record that is queued without what it has nothing to say about', () => {
  it('fits its topic, and is the same again for whoever reads it', () => {
    fc.assert(
      fc.property(anyRecord, (record) => {
        const arrived = sent(record)
        if (!ingestRecords.validator.fits(arrived) || arrived.kind !== 'event')
          throw new Error('does not fit')
        expect(JSON.stringify(ingestRecordFrom(arrived))).toBe(JSON.stringify(record))
      }),
    )
  })

  it('has five fields when there is nothing to tell', () => {
    const { v: _v, kind, projectId, receivedAt } = bare
    const event = { eventId: 'e', eventName: 'page_view', properties: {} }
    expect(sent(bare)).toEqual({ v: 2, kind, projectId, receivedAt, event })
  })

  it.each([
    ['sentAt', null],
    ['client', null],
    ['backfill', false],
    ['warnings', null],
    ['projectId', 'project-1'],
  ])('does not say %s = %j', (field, value) => {
    expect(ingestRecords.validator.check({ ...compactRecordOf(bare), [field]: value })?.field).toBe(field)
  })

  it('is read as it always was', () => {
    const golden = path.join(import.meta.dirname, '../../../contracts/golden/ingest.records.v1.json')
    const [complete, , , compact] = JSON.parse(readFileSync(golden, 'utf8'))
    const expected: IngestRecord = { ...complete, ipStorage: 'keep', backfill: true }
    expect(ingestRecordFrom(compact as CompactRecord)).toEqual(expected)
    expect(sent(expected)).toEqual(compact)
  })

  it('is read from a gateway of before, which leaves out nothing', () => {
    expect(ingestRecords.validator.check(bare)).toBeUndefined()
    expect(ingestRecordFrom(bare)).toEqual(bare)
  })
})

import type { ValidationItem } from '@waymark/contracts/http/track-result'
import type { ProjectSettings } from '@waymark/contracts/project-settings'
import type { AcceptedEvent, ConversionClaim } from '@waymark/contracts/records/ingest-record'
import { ingestRecords } from '@waymark/contracts/topics'
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { completeEvent, eventKeyOf, ingestRecordOf, partitionKeyOf, type Receipt } from './ingest-record.ts'

const PROJECT_ID = '01900000-0000-7000-8000-000000000001'
const bareEvent: AcceptedEvent = { eventId: 'e', eventName: 'page_view', properties: {} }
const bareReceipt: Receipt = {
  receivedAt: '2026-11-21T04:00:00.000Z',
  sentAt: null,
  client: { ip: null, userAgent: null },
  backfill: false,
  warnings: [],
  conversions: [],
}
const recordOf = (event = bareEvent, receipt = bareReceipt, settings: ProjectSettings = {}) =>
  ingestRecordOf(event, { projectId: PROJECT_ID, settings }, receipt)

const text = fc.string({ maxLength: 5 })
const map = fc.dictionary(fc.string({ minLength: 1, maxLength: 5 }), text, { maxKeys: 2 })
/** Requires an arbitrary for every field, so that a field added later is tested too. */
const anyEvent = fc.record<Required<AcceptedEvent>, 'eventId' | 'eventName' | 'properties'>(
  {
    eventId: text,
    eventName: text,
    properties: map,
    visitorId: text,
    userId: text,
    sessionId: text,
    clientTimestamp: text,
    shortLinkId: text,
    shortLinkCode: text,
    clickIds: map,
  },
  { requiredKeys: ['eventId', 'eventName', 'properties'] },
)
const anyReceipt: fc.Arbitrary<Required<Receipt>> = fc.record({
  receivedAt: fc.constant(bareReceipt.receivedAt),
  sentAt: fc.option(text),
  client: fc.record({ ip: fc.option(text), userAgent: fc.option(text) }),
  backfill: fc.boolean(),
  warnings: fc.array(fc.record<ValidationItem>({ field: text, rule: text, message: text }), { maxLength: 2 }),
  conversions: fc.array(
    fc.record<ConversionClaim>({
      selectorId: fc.uuid(),
      amount: fc.option(fc.integer()),
      currency: fc.option(text),
      quantity: fc.option(fc.integer()),
    }),
    { maxLength: 2 },
  ),
})

describe('ingestRecordOf', () => {
  it('returns a valid record with every value', () => {
    const ipStorages = fc.constantFrom('keep', 'truncate', 'drop')
    fc.assert(
      fc.property(anyEvent, anyReceipt, ipStorages, (event, receipt, ipStorage) => {
        const record: unknown = JSON.parse(JSON.stringify(recordOf(event, receipt, { ipStorage })))
        if (!ingestRecords.validator.fits(record) || record.kind !== 'event') throw new Error('does not fit')
        expect(JSON.stringify(record.event)).toBe(JSON.stringify(event))
        expect({
          receivedAt: record.receivedAt,
          sentAt: record.sentAt ?? null,
          client: record.client ?? { ip: null, userAgent: null },
          backfill: record.backfill ?? false,
          warnings: record.warnings ?? [],
          conversions: record.conversions ?? [],
        }).toEqual(receipt)
        expect(record.ipStorage ?? 'truncate').toBe(ipStorage)
      }),
    )
  })

  it('omits fields without a value', () => {
    const required = { v: 1, kind: 'event', projectId: PROJECT_ID, receivedAt: bareReceipt.receivedAt }
    expect(recordOf()).toStrictEqual({ ...required, event: bareEvent })
  })

  it.each([
    ['sentAt', null],
    ['client', null],
    ['backfill', false],
    ['warnings', null],
    ['projectId', 'project-1'],
  ])('returns records in which %s = %j is not allowed', (field, value) => {
    expect(ingestRecords.validator.check({ ...recordOf(), [field]: value })?.field).toBe(field)
  })
})

describe('completeEvent', () => {
  it('adds every omitted field', () => {
    expect(completeEvent(bareEvent)).toEqual({
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
    })
  })

  it('keeps every present field', () => {
    fc.assert(
      fc.property(anyEvent, (event) => {
        expect(completeEvent(event)).toEqual({ ...completeEvent(bareEvent), ...event })
      }),
    )
  })
})

const anyone = {
  eventId: 'event-1',
  eventName: 'page_view',
  visitorId: null,
  userId: null,
  sessionId: 'session-1',
  properties: {},
  clientTimestamp: null,
  shortLinkId: null,
  shortLinkCode: null,
  clickIds: {},
}

it.each([
  [{ visitorId: 'visitor-1', userId: 'user-1' }, 'visitor-1'],
  [{ userId: 'user-1' }, 'user-1'],
  [{}, 'event-1'],
])('keeps the records of %j in order under one key', (person, id) => {
  expect(partitionKeyOf('project-1', { ...anyone, ...person })).toBe(`project-1:${id}`)
})

const CANONICAL_UUID = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/

describe('eventKeyOf', () => {
  it('is the id itself if it is a UUID, in upper or lower case', () => {
    fc.assert(
      fc.property(fc.uuid(), (id) => {
        expect(eventKeyOf(id)).toBe(id)
        expect(eventKeyOf(id.toUpperCase())).toBe(id)
      }),
    )
  })

  it('is a UUID for any id, deterministically', () => {
    const ids = fc.oneof(
      fc.string({ unit: 'binary' }),
      fc.uuid().map((id) => `${id} `),
    )
    fc.assert(
      fc.property(ids, (id) => {
        expect(eventKeyOf(id)).toMatch(CANONICAL_UUID)
        expect(eventKeyOf(id)).toBe(eventKeyOf(id))
      }),
    )
  })

  // A golden value, because a change would store every repeated event again.
  it('is the first half of the SHA-256 of other ids, marked as version 8', () => {
    expect(eventKeyOf('order-1')).toBe('0bafe221-56d2-898c-943b-86040446d366')
  })

  it('differs for ids that differ', () => {
    const ids = ['a', 'A', 'a ', 'ab', 'ä', '🦩', '{01900000-0000-7000-8000-000000000001}']
    fc.assert(
      fc.property(fc.uniqueArray(fc.string(), { maxLength: 20 }), (others) => {
        const all = [...new Set([...ids, ...others])]
        expect(new Set(all.map(eventKeyOf)).size).toBe(all.length)
      }),
    )
  })
})

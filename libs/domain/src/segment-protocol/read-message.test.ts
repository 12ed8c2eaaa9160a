import { MAX_TRAITS_BYTES } from '@waymark/contracts/http/identify'
import { MAX_EVENT_BYTES } from '@waymark/contracts/http/track-request'
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { acceptEvent } from '../ingestion/accept-event.ts'
import { eventKeyOf } from '../ingestion/ingest-record.ts'
import { parseClientJson } from '../json/client-json.ts'
import { readSegmentMessage, type SegmentCall, segmentCalls, segmentProblem } from './read-message.ts'

const request = (more: object = {}) => ({
  call: undefined,
  sentAt: undefined,
  context: undefined,
  mayExceedSize: true,
  settings: {},
  ...more,
})
const read = (raw: unknown, more: object = {}) => readSegmentMessage(raw, request(more))
const problemsOf = (raw: unknown, more: object = {}) =>
  read(raw, more).problems.map(({ field, message }) => `${field} ${message}`.trim())

const person = { anonymousId: 'v', userId: 'u' }

describe('a message becomes an event', () => {
  it('of track, with its ids, times and properties', () => {
    const message = {
      type: 'track',
      messageId: 'ajs-next-1',
      event: 'Order Completed',
      ...person,
      properties: { total: 4900 },
      timestamp: '2026-11-21T04:00:00.000Z',
      sentAt: '2026-11-21T04:00:01.000Z',
      context: { sessionId: 1763697600, ip: '203.0.113.9', userAgent: 'Firefox', locale: 'de-DE' },
      integrations: { All: true },
    }
    expect(read(message)).toMatchObject({
      personChange: undefined,
      problems: [],
      sentAt: '2026-11-21T04:00:01.000Z',
      event: {
        event: {
          eventId: 'ajs-next-1',
          eventName: 'Order Completed',
          visitorId: 'v',
          userId: 'u',
          sessionId: '1763697600',
          clientTimestamp: '2026-11-21T04:00:00.000Z',
          properties: { total: 4900 },
        },
        contextProperties: { locale: 'de-DE' },
        device: { ip: '203.0.113.9', userAgent: 'Firefox' },
      },
    })
  })

  it.each([
    ['page', 'page_view'],
    ['screen', 'screen_view'],
  ])('of %s, with name and category among the properties', (type, eventName) => {
    const message = { type, name: 'Sale', category: 'Shop', properties: { name: 'Own' }, ...person }
    expect(read(message).event?.event).toMatchObject({
      eventName,
      properties: { name: 'Own', category: 'Shop' },
    })
    expect(read({ type, ...person }).event?.event).toMatchObject({ eventName, properties: {} })
  })

  it('with the page of its context, and with the parts of its campaign that the address lacks', () => {
    const campaign = { name: 'spring', source: 'news', medium: 'email' }
    const page = { url: 'https://shop.example/a', path: '/a', title: 'A', referrer: '', search: '?x' }
    const contextOf = (context: object) =>
      read({ type: 'track', event: 'e', context }).event?.contextProperties
    const utm = { utm_campaign: 'spring', utm_source: 'news', utm_medium: 'email' }
    const { url, path, title } = page
    expect(contextOf({ page, campaign })).toEqual({ url, path, title, ...utm })
    for (const tagged of [
      'https://shop.example/a?utm_source=other',
      'https://shop.example/a?x=1&amp;utm_source=other',
      'https://shop.example/a?UTM_SOURCE=other',
      'https://shop.example/#/a?utm_source=other',
    ])
      expect(contextOf({ page: { url: tagged }, campaign })).toEqual({
        url: tagged,
        utm_campaign: 'spring',
        utm_medium: 'email',
      })
    const empty = 'https://shop.example/a?utm_id=7&utm_source='
    expect(contextOf({ page: { url: empty }, campaign })).toEqual({ url: empty, ...utm })
    expect(contextOf({ page: 'x', campaign: 7, locale: null })).toEqual({})
  })

  it('with the context and the send time of its batch if it has none', () => {
    const batch = { context: { ip: '1.1.1.1', locale: 'de' }, sentAt: '2026-11-21T04:00:00Z' }
    const message = { type: 'track', event: 'e', context: { locale: 'fr' } }
    expect(read(message, batch)).toMatchObject({
      sentAt: '2026-11-21T04:00:00Z',
      event: { contextProperties: { locale: 'fr' }, device: { ip: '1.1.1.1' } },
    })
  })

  it.each(['yesterday', 'x'.repeat(1_000), {}, true])('with a warning when the send time is %j', (sentAt) => {
    const sentAtProblem = expect.objectContaining({ field: 'sentAt', rule: 'invalid_sent_at' })
    const message = { type: 'track', event: 'e' }
    expect(read({ ...message, sentAt })).toMatchObject({ sentAt: null, sentAtProblem, problems: [] })
    expect(read(message, { sentAt })).toMatchObject({ sentAt: null, sentAtProblem, problems: [] })
    expect(read({ ...message, sentAt }, { sentAt: '2026-11-21T04:00:00Z' })).toMatchObject({
      sentAt: '2026-11-21T04:00:00Z',
      sentAtProblem,
    })
  })

  it.each([1_763_697_600_000, 1_763_697_600, '2026-11-21T04:00:00+0000', '', null, undefined])(
    'without a warning when the send time is %j',
    (sentAt) => {
      expect(read({ type: 'track', event: 'e', sentAt })).not.toHaveProperty('sentAtProblem')
    },
  )

  it('without an IP address when the client asks for that', () => {
    const context = { ip: '0.0.0.0' }
    expect(read({ type: 'track', event: 'e', context }).event?.device.ip).toBeNull()
  })

  it.each([
    ['2026-11-21', '2026-11-21T00:00:00Z'],
    ['2026-11-21T04:00:00.123456', '2026-11-21T04:00:00.123456Z'],
    ['2026-11-21T04:00:00.123456+00:00', '2026-11-21T04:00:00.123456+00:00'],
    [1_763_697_600_000, '2025-11-21T04:00:00.000Z'],
    ['yesterday', 'yesterday'],
    [Number.NaN, undefined],
    [1_763_697_600, '2025-11-21T04:00:00.000Z'],
    ['1763697600', '2025-11-21T04:00:00.000Z'],
    ['2026-11-21T04:00:00+0000', '2026-11-21T04:00:00+00:00'],
    ['2026-11-21T04:00+02', '2026-11-21T04:00:00+02:00'],
    ['', undefined],
    [{}, undefined],
  ])('at the time %j', (timestamp, clientTimestamp) => {
    expect(read({ type: 'track', event: 'e', timestamp }).event?.event.clientTimestamp).toBe(clientTimestamp)
    const original = read({ type: 'track', event: 'e', originalTimestamp: timestamp })
    expect(original.event?.event.clientTimestamp).toBe(clientTimestamp)
  })

  it('of identify only if the project enables it, without denied traits', () => {
    const message = { type: 'identify', ...person, traits: { plan: 'pro', ssn: '1' } }
    expect(read(message).event).toBeUndefined()
    const settings = { identifyEvents: true, deniedTraits: ['ssn'] }
    expect(read(message, { settings }).event?.event).toMatchObject({
      eventName: 'identify',
      properties: { traits: { plan: 'pro' } },
    })
  })
})

describe('ids of messages', () => {
  const idOf = (messageId: unknown) => read({ type: 'track', event: 'e', messageId }).event?.event.eventId

  it('are ids of events, or a hash if an event cannot have the id', () => {
    expect(idOf('a'.repeat(200))).toBe('a'.repeat(200))
    expect(idOf('a'.repeat(201))).toBe(eventKeyOf(`segment:${'a'.repeat(201)}`))
    expect(idOf('two\nlines')).toBe(idOf('two\nlines'))
    expect(idOf(7)).toBe('7')
    expect(idOf(null)).toBeUndefined()
    expect(idOf('')).toBeUndefined()
  })

  it('never have the key of an event that Waymark creates', () => {
    const own = 'wm:redemption:1'
    expect(idOf(own)).not.toBe(own)
    expect(eventKeyOf(`${idOf(own)}`)).not.toBe(eventKeyOf(own))
  })
})

describe('ids that are numbers', () => {
  const id = '7211045500123456789'
  const parsed = (fields: object) =>
    read(parseClientJson(JSON.stringify(fields).replaceAll(`"${id}"`, id)), {
      settings: { identifyEvents: true },
    })

  it.each(segmentCalls)('keep all their digits in %s', (type) => {
    const message = {
      type,
      event: 'e',
      groupId: id,
      previousId: 'v',
      anonymousId: id,
      userId: id,
      messageId: id,
    }
    const { event, personChange, problems } = parsed(message)
    expect(problems).toEqual([])
    if (type !== 'alias') expect(event?.event).toMatchObject({ eventId: id, userId: id, visitorId: id })
    if (['identify', 'alias', 'group'].includes(type)) expect(personChange?.userId).toBe(id)
    if (type === 'group') expect(personChange?.traits).toHaveProperty([`groups.${id}`])
  })

  it('keep all their digits in previousId, sessions, traits and the quarantine', () => {
    expect(parsed({ type: 'alias', previousId: id, userId: 'u' }).personChange?.visitorId).toBe(id)
    const context = { sessionId: id }
    expect(parsed({ type: 'track', event: 'e', context }).event?.event.sessionId).toBe(id)
    const traits = { crmId: id, of: { id } }
    expect(parsed({ type: 'identify', userId: 'u', traits }).personChange?.traits).toEqual(traits)
    expect(
      parsed({ type: 'group', groupId: 'g', userId: 'u', traits }).event?.event.properties,
    ).toMatchObject({ traits })
    expect(parsed({ type: 'none', userId: id, messageId: id, anonymousId: id }).summary()).toMatchObject({
      eventId: id,
      userId: id,
      visitorId: id,
    })
  })

  it('are reported in the properties of every call with properties', () => {
    for (const type of ['track', 'page', 'screen']) {
      const { event } = parsed({ type, event: 'e', name: 'n', ...person, properties: { order: id } })
      const accepted = acceptEvent(event?.event, {
        receivedAtMs: 0,
        sentAt: null,
        newEventId: () => 'new',
        mayExceedSize: false,
      })
      expect(accepted).toMatchObject({ warnings: [{ field: 'properties.order', rule: 'inexact_number' }] })
    }
  })
})

describe('a message of the past', () => {
  it.each(['yesterday', '', 0, 5, {}, '2024-05-05T25:00:00Z'])('is refused with the time %j', (timestamp) => {
    for (const type of segmentCalls) {
      const message = { type, event: 'e', groupId: 'g', previousId: 'p', ...person, timestamp }
      expect(read(message, { isHistory: true })).toMatchObject({
        personChange: undefined,
        event: undefined,
        problems: [{ field: 'timestamp', message: expect.stringContaining('must be a time') }],
      })
    }
  })

  it.each([1_714_903_200, '2024-05-05T10:00:00+0000', '2024-05-05', null, undefined])(
    'is taken with the time %j',
    (timestamp) => {
      const message = { type: 'track', event: 'e', ...person, timestamp }
      expect(read(message, { isHistory: true }).problems).toEqual([])
    },
  )

  it('changes people as of its time', () => {
    const timestamp = '2024-05-05T10:00:00+0200'
    for (const type of ['identify', 'group', 'alias']) {
      const message = { type, groupId: 'g', previousId: 'p', ...person, timestamp }
      expect(read(message, { isHistory: true }).personChange?.happenedAt).toBe('2024-05-05T10:00:00+02:00')
      expect(read(message).personChange?.happenedAt).toBe('2024-05-05T10:00:00+02:00')
    }
  })

  it('may have another field with its time', () => {
    const message = { type: 'track', event: 'e', timestamp: 'now', originalTimestamp: '2024-05-05T10:00:00Z' }
    expect(read(message, { isHistory: true })).toMatchObject({
      problems: [],
      event: { event: { clientTimestamp: '2024-05-05T10:00:00Z' } },
    })
  })
})

describe('a message changes a person', () => {
  it('of identify: it links both ids, or writes the traits of one', () => {
    const traits = { plan: 'pro', address: { city: 'Bern' } }
    const change = { traits, userHash: null }
    expect(read({ type: 'identify', ...person, traits }).personChange).toEqual({
      ...change,
      visitorId: 'v',
      userId: 'u',
      links: true,
    })
    expect(read({ type: 'identify', userId: 7, traits }).personChange).toEqual({
      ...change,
      visitorId: null,
      userId: '7',
      links: false,
    })
    expect(read({ type: 'identify', anonymousId: 'v', userId: '', traits }).personChange).toMatchObject({
      visitorId: 'v',
      userId: null,
      links: false,
    })
  })

  it('of identify: with the traits of its context where RudderStack sends them', () => {
    const context = { traits: { plan: 'pro' } }
    expect(read({ type: 'identify', userId: 'u', context }).personChange?.traits).toEqual({ plan: 'pro' })
    const both = { type: 'identify', userId: 'u', context, traits: { plan: 'own' } }
    expect(read(both).personChange?.traits).toEqual({ plan: 'own' })
    expect(read({ ...both, type: 'track', event: 'e' }).personChange).toBeUndefined()
  })

  it('with a user hash', () => {
    const message = { type: 'identify', userId: 'u', context: { userHash: 'ab' } }
    expect(read(message).personChange?.userHash).toBe('ab')
  })

  it('of alias: it links the previous id and the user', () => {
    expect(read({ type: 'alias', previousId: 'v', userId: 'u' })).toMatchObject({
      event: undefined,
      personChange: { visitorId: 'v', userId: 'u', links: true, traits: {} },
    })
  })

  it('of group: it writes a trait of the plain values, and stores an event with all values', () => {
    const traits = { plan: 'enterprise', owner: { name: 'Ada' } }
    expect(read({ type: 'group', groupId: 'acme', ...person, traits })).toMatchObject({
      problems: [],
      personChange: {
        visitorId: 'v',
        userId: 'u',
        links: false,
        traits: { 'groups.acme': { plan: 'enterprise' } },
      },
      event: { event: { eventName: 'group', properties: { groupId: 'acme', traits } } },
    })
  })

  it('without traits that are too deep or too large, which it names', () => {
    const deep = { plan: 'pro', company: { address: { city: 'Bern' } } }
    const { personChange, problems } = read({ type: 'identify', ...person, traits: deep })
    expect(personChange).toMatchObject({ links: true, traits: { plan: 'pro' } })
    expect(problems).toEqual([
      {
        field: 'traits.company',
        rule: 'structure',
        message: 'is nested deeper than 2 levels of traits; it is left out',
      },
    ])
    const of = (bytes: number) => ({ a: 'x'.repeat(bytes - '{"a":""}'.length) })
    const fits = read({ type: 'identify', ...person, traits: of(MAX_TRAITS_BYTES) })
    expect(fits).toMatchObject({ problems: [], personChange: { traits: of(MAX_TRAITS_BYTES) } })
    const large = read({ type: 'identify', ...person, traits: of(MAX_TRAITS_BYTES + 1) })
    expect(large.personChange).toMatchObject({ links: true, traits: {} })
    expect(large.problems).toHaveLength(1)
  })

  it('of a group whose id is too long for a trait: only the event has it', () => {
    const fits = read({ type: 'group', userId: 'u', groupId: 'g'.repeat(57) })
    expect(fits.problems).toEqual([])
    const long = read({ type: 'group', userId: 'u', groupId: 'g'.repeat(58) })
    expect(long.problems.map(({ field }) => field)).toEqual(['groupId'])
    expect(long.event).toBeDefined()
  })
})

describe('an invalid message has a reason', () => {
  it.each<[unknown, string | RegExp]>([
    [null, 'must be an object'],
    [['track'], 'must be an object'],
    [{}, /^type must be one of track, page/],
    [{ type: 'toString' }, /^type must be/],
    [{ type: 'track', event: 'e', properties: [] }, 'properties must be an object'],
    [{ type: 'page', properties: 'x' }, 'properties must be an object'],
    [{ type: 'identify', traits: {} }, /^userId is missing, and so is anonymousId/],
    [{ type: 'identify', userId: 'undefined' }, 'userId looks like a bug in the client'],
    [{ type: 'identify', anonymousId: {}, userId: 'u' }, /^anonymousId must be/],
    [{ type: 'identify', userId: 'u', traits: [] }, 'traits must be an object'],
    [{ type: 'group', groupId: 'g' }, /^userId is missing/],
    [{ type: 'group', userId: 'u' }, /^groupId must be/],
    [{ type: 'alias', userId: 'u' }, 'previousId is missing'],
    [{ type: 'alias', previousId: 'v' }, 'userId is missing'],
    [{ type: 'alias', previousId: 'u', userId: 'u' }, 'previousId is the same as userId'],
    [{ type: 'alias', previousId: 'a\nb', userId: 'u' }, /^previousId must be/],
    [JSON.parse('{"type":"track","event":"e","properties":{"a":1e999}}'), /number that is out of range/],
  ])('%j', (raw, reason) => {
    const { event, personChange } = read(raw)
    expect({ event, personChange }).toEqual({ event: undefined, personChange: undefined })
    expect(problemsOf(raw)).toEqual([expect.stringMatching(reason)])
  })

  it('of over 32 KiB or 20 levels', () => {
    const of = (bytes: number) => {
      const message = { type: 'track', event: 'e', properties: { a: '' } }
      message.properties.a = 'x'.repeat(bytes - JSON.stringify(message).length)
      return message
    }
    expect(problemsOf(of(MAX_EVENT_BYTES))).toEqual([])
    expect(problemsOf(of(MAX_EVENT_BYTES + 1))).toEqual(['is larger than 32768 bytes'])
    const nested = (levels: number): object => (levels === 0 ? {} : { a: nested(levels - 1) })
    expect(problemsOf({ type: 'track', event: 'e', properties: nested(18) })).toEqual([])
    expect(problemsOf({ type: 'track', event: 'e', properties: nested(19) })).toHaveLength(1)
  })

  it('with the field names of the protocol', () => {
    expect(segmentProblem({ field: 'eventName', message: 'must be a string' })).toEqual({
      field: 'event',
      rule: 'structure',
      message: 'must be a string',
    })
  })

  it('and is summarized without its context and the traits that the project denies', () => {
    const message = {
      type: 'identify',
      messageId: 'm',
      traits: { ssn: '1', plan: 'x' },
      context: { ip: '1.1.1.1' },
    }
    expect(read(message, { settings: { deniedTraits: ['ssn'] } }).summary()).toEqual({
      eventId: 'm',
      eventName: 'identify',
      visitorId: undefined,
      userId: undefined,
      content: { message: { type: 'identify', traits: { plan: 'x' } } },
    })
    expect(read('x'.repeat(1_000)).summary().content).toEqual({
      message: expect.stringMatching(/^.{1,256}$/),
    })
  })
})

describe('any message', () => {
  const field = fc.oneof(fc.jsonValue(), fc.string(), fc.constantFrom(null, '', 'undefined', 'u', 7))
  const names = [
    'messageId',
    'anonymousId',
    'userId',
    'event',
    'name',
    'properties',
    'traits',
    'groupId',
    'previousId',
    'timestamp',
    'sentAt',
    'context',
  ]
  const anyMessage = fc
    .tuple(fc.constantFrom<SegmentCall>(...segmentCalls), fc.dictionary(fc.constantFrom(...names), field))
    .map(([type, fields]) => ({ ...fields, type }))

  it('it is accepted in part or has a reason, and its quarantined part can be stored', () => {
    fc.assert(
      fc.property(fc.oneof(anyMessage, fc.jsonValue()), (raw) => {
        const { event, personChange, problems, summary } = read(raw)
        expect(event !== undefined || personChange !== undefined || problems.length > 0).toBe(true)
        expect(summary().eventName.length).toBeGreaterThan(0)
        expect(summary().eventName.length).toBeLessThanOrEqual(200)
      }),
    )
  })

  it('a message within its limits becomes an event within those of events', () => {
    const valid = fc.record({
      type: fc.constantFrom('track', 'page', 'screen'),
      event: fc.constant('e'),
      messageId: fc.string({ maxLength: 300 }),
      properties: fc.dictionary(fc.string(), fc.jsonValue({ maxDepth: 5 })),
    })
    const context = { receivedAtMs: 0, sentAt: null, newEventId: () => 'new', mayExceedSize: false }
    fc.assert(
      fc.property(valid, (raw) => {
        expect(acceptEvent(read(raw).event?.event, context)).toMatchObject({ accepted: true })
      }),
    )
  })

  it('a repeat is the same event', () => {
    fc.assert(
      fc.property(anyMessage, (raw) => {
        expect(read(structuredClone(raw)).event).toEqual(read(raw).event)
      }),
    )
  })
})

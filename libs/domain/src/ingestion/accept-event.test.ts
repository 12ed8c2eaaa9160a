import { trackedEvent } from '@waymark/contracts/http/track-request'
import { ingestRecords } from '@waymark/contracts/topics'
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { correctedTime } from '../enrichment/corrected-time.ts'
import { parseClientJson } from '../json/client-json.ts'
import { acceptEvent, readSentAt, sampleOf } from './accept-event.ts'

const RECEIVED_AT_MS = Date.parse('2026-11-21T04:00:00.000Z')
const DAY_MS = 24 * 60 * 60 * 1000
const context = {
  receivedAtMs: RECEIVED_AT_MS,
  sentAt: null,
  newEventId: () => 'new-id',
  mayExceedSize: true,
}

const accept = (raw: unknown) => {
  const result = acceptEvent(raw, context)
  if (!result.accepted) throw new Error(`refused: ${result.problem.message}`)
  return result
}
const refuse = (raw: unknown) => {
  const result = acceptEvent(raw, context)
  if (result.accepted) throw new Error('accepted')
  return result
}
const warningsOf = (fields: object) =>
  accept({ eventName: 'e', visitorId: 'v', ...fields }).warnings.map(({ rule }) => rule)

/** An event with `levels` levels of nesting, including itself. */
const nested = (levels: number) =>
  `{"eventName":"e","properties":${'{"a":'.repeat(levels - 2)}{}${'}'.repeat(levels - 2)}}`

/** An event whose compact JSON has `bytes` bytes, padded with a character. */
const ofSize = (bytes: number, character: string) => {
  const rest = bytes - Buffer.byteLength(JSON.stringify({ eventName: 'e', properties: { a: '' } }))
  const width = Buffer.byteLength(JSON.stringify(character)) - '""'.length
  const text = character.repeat(Math.floor(rest / width)) + 'x'.repeat(rest % width)
  return { eventName: 'e', properties: { a: text } }
}

describe('an accepted event', () => {
  it('omits absent fields', () => {
    expect(accept({ eventName: 'signed_up', visitorId: 'v' })).toEqual({
      accepted: true,
      warnings: [],
      event: {
        eventId: 'new-id',
        eventName: 'signed_up',
        visitorId: 'v',
        properties: {},
      },
    })
  })

  it('keeps exactly the sent fields that are listed', () => {
    const sent = {
      eventId: 'order-1',
      eventName: 'ordered',
      visitorId: 'v',
      userId: 'u',
      sessionId: 's',
      properties: { amount: 1e308, 'a\u2028': [null, { deep: true }] },
      clientTimestamp: '2026-11-21T03:59:00Z',
      shortLinkId: 'l',
      shortLinkCode: 'c',
      clickIds: { gclid: 'g' },
    }
    expect(accept({ ...sent, colour: 'red' }).event).toEqual(sent)
  })

  it('treats null as absent', () => {
    const { event } = accept({
      eventName: 'e',
      eventId: null,
      properties: null,
      clickIds: null,
      userId: null,
    })
    expect(event).toEqual({ eventId: 'new-id', eventName: 'e', properties: {} })
  })

  it('keeps `__proto__` as a key without a prototype', () => {
    const { event } = accept(
      parseClientJson(
        '{"eventName":"e","__proto__":{"userId":"admin"},"properties":{"__proto__":{"admin":true}}}',
      ),
    )
    expect(event).not.toHaveProperty('userId')
    expect(JSON.stringify(event.properties)).toBe('{"__proto__":{"admin":true}}')
    expect(event.properties.admin).toBeUndefined()
  })
})

describe('the structure of an event', () => {
  it.each([
    [{ visitorId: 'v' }, 'eventName', 'is required'],
    [{ eventName: 1 }, 'eventName', 'must be a string; got 1'],
    [{ eventName: 'e'.repeat(201) }, 'eventName', 'must have at most 200 characters; got 201'],
    [{ eventName: 'e', properties: [] }, 'properties', 'must be an object or null; got an empty array'],
    [{ eventName: 'e', clickIds: { gclid: 1 } }, 'clickIds.gclid', 'must be a string; got 1'],
    ['event', '', 'must be an object; got "event"'],
    [null, '', 'must be an object; got null'],
    [[], '', 'must be an object; got an empty array'],
  ])('is invalid in %j', (raw, field, message) => {
    expect(refuse(raw).problem).toEqual({ field, rule: 'structure', message })
  })

  it('is at most 20 levels deep', () => {
    expect(accept(JSON.parse(nested(20))).event.eventName).toBe('e')
    expect(refuse(JSON.parse(nested(21))).problem.message).toBe('is nested deeper than 20 levels')
  })

  it.each(['x', 'ä', '🦩', '"'])('is at most 32 KiB of UTF-8 JSON, of %s', (character) => {
    const event = ofSize(32 * 1024, character)
    expect(accept(event).event.properties).toBe(event.properties)
    expect(refuse(ofSize(32 * 1024 + 1, character)).problem.message).toBe('is larger than 32768 bytes')
  })

  it('is not measured when the request is small', () => {
    const spared = acceptEvent(ofSize(32 * 1024 + 1, 'x'), { ...context, mayExceedSize: false })
    expect(spared.accepted).toBe(true)
  })

  it.each(['[', '{"a":'])('may have 100,000 levels of %s', (open) => {
    const close = open === '[' ? ']' : '}'
    const deep = open.repeat(100_000) + (open === '[' ? '' : '1') + close.repeat(100_000)
    for (const text of [deep, `{"eventName":"deep","properties":{"a":${deep}}}`]) {
      const raw = parseClientJson(text)
      expect(refuse(raw).problem.message).toBe('is nested deeper than 20 levels')
      expect(sampleOf(raw).length).toBeLessThanOrEqual(256)
    }
  })
})

describe('the sample of a refused event', () => {
  it('is the event as JSON up to 256 characters', () => {
    const raw = { a: 'x'.repeat(256 - '{"a":""}'.length) }
    expect(sampleOf(raw)).toBe(JSON.stringify(raw))
    expect(sampleOf({ a: `${raw.a}x` })).toBe(JSON.stringify({ a: `${raw.a}x` }).slice(0, 256))
  })

  it.each([0, 1])('is well-formed text also when it ends within an emoji', (shift) => {
    expect(sampleOf({ a: 'x'.repeat(shift) + '🦩'.repeat(200) }).isWellFormed()).toBe(true)
  })

  it('contains the beginning of values that are nested too deeply', () => {
    expect(sampleOf(JSON.parse(nested(21)))).toContain('"eventName":"e"')
  })

  it.each([0, 1])('has a name of at most 200 well-formed characters', (shift) => {
    const { eventName } = refuse({ eventName: 'x'.repeat(shift) + '🦩'.repeat(201) })
    expect(eventName.isWellFormed()).toBe(true)
    expect(eventName.length).toBeLessThanOrEqual(200)
    expect(refuse({ eventName: 7 }).eventName).toBe('')
  })
})

describe('the envelope of an event', () => {
  it('has no warning when it is valid', () => {
    expect(warningsOf({ clientTimestamp: '2026-11-21T03:59:00+01:00' })).toEqual([])
  })

  it.each([{ visitorId: null }, { visitorId: undefined }])('warns of a missing visitor: %j', (fields) => {
    expect(warningsOf(fields)).toEqual(['missing_visitor_id'])
  })

  it.each(['', 'undefined', 'null ', ' NULL', 'NaN', 'None', '(null)', '[object Undefined]'])(
    'takes the visitor %j for missing',
    (visitorId) => {
      const { event, warnings } = accept({ eventName: 'e', visitorId })
      expect(event).not.toHaveProperty('visitorId')
      expect(warnings).toMatchObject([{ field: 'visitorId', rule: 'invalid_visitor_id', actual: visitorId }])
    },
  )

  it.each(['', 'undefined', 'null ', ' NULL', 'NaN', 'None', '(null)', '[object Undefined]'])(
    'treats the user %j as missing',
    (userId) => {
      const { event, warnings } = accept({ eventName: 'e', visitorId: 'v', userId })
      expect(event).not.toHaveProperty('userId')
      expect(warnings).toEqual([
        {
          field: 'userId',
          rule: 'invalid_user_id',
          actual: userId,
          message: 'userId looks like a bug in the client and is treated as missing',
        },
      ])
    },
  )

  it.each(['', 'undefined', 'null ', ' NULL', 'NaN', 'None', '(null)', '[object Undefined]'])(
    'takes the session %j for missing',
    (sessionId) => {
      const { event, warnings } = accept({ eventName: 'e', visitorId: 'v', sessionId })
      expect(event.sessionId).toBeUndefined()
      expect(warnings).toMatchObject([{ field: 'sessionId', rule: 'invalid_session_id', actual: sessionId }])
    },
  )

  it.each(['', 'undefined', 'null ', ' NULL', 'NaN', 'None', '(null)', '[object Undefined]'])(
    'gives an event with the id %j one of its own',
    (eventId) => {
      const { event, warnings } = accept({ eventName: 'e', visitorId: 'v', eventId })
      expect(event.eventId).toBe(accept({ eventName: 'e' }).event.eventId)
      expect(warnings).toMatchObject([{ field: 'eventId', rule: 'invalid_event_id', actual: eventId }])
    },
  )

  it.each(['undefined-1', 'nullable', '0'])('keeps the id %j', (eventId) => {
    const { event, warnings } = accept({ eventName: 'e', visitorId: 'v', eventId })
    expect(event.eventId).toBe(eventId)
    expect(warnings).toEqual([])
  })

  it('has no warning when there is no user', () => {
    expect(warningsOf({ userId: null })).toEqual([])
    expect(warningsOf({ userId: 'u' })).toEqual([])
  })

  it.each([' ', '\u00a0\u3000'])('refuses names and ids of white space alone: %j', (blank) => {
    for (const field of [
      'eventName',
      'visitorId',
      'userId',
      'sessionId',
      'eventId',
      'shortLinkId',
      'shortLinkCode',
    ])
      expect(refuse({ eventName: 'e', [field]: blank }).problem).toMatchObject({ field, rule: 'structure' })
    expect(accept({ eventName: ` e${blank}`, userId: `${blank}u` }).event.userId).toBe(`${blank}u`)
  })

  it('refuses ids that are reserved for events of Waymark', () => {
    const { problem } = refuse({ eventName: 'e', eventId: 'wm:redemption:1' })
    expect(problem).toMatchObject({ field: 'eventId', rule: 'structure' })
    for (const eventId of ['wm', 'WM:1', 'redemption:1', ' wm:1'])
      expect(accept({ eventName: 'e', eventId }).event.eventId).toBe(eventId)
  })

  it('warns of unknown fields by name', () => {
    const { event, warnings } = accept({ eventName: 'e', visitorId: 'v', colour: 'red', props: { a: 1 } })
    expect(warnings).toEqual([
      { field: 'colour', rule: 'unknown_field', message: expect.stringContaining('properties') },
      { field: 'props', rule: 'unknown_field', message: expect.stringContaining('eventName') },
    ])
    expect(event).not.toHaveProperty('colour')
  })

  it('warns of at most ten of them, with at most 64 characters of each name', () => {
    const unknown = (count: number) =>
      Object.fromEntries(Array.from({ length: count }, (_, n) => [`f${n}`, 1]))
    expect(warningsOf(unknown(10))).toHaveLength(10)
    expect(warningsOf(unknown(11))).toHaveLength(10)
    const [warning] = accept({ eventName: 'e', visitorId: 'v', ['🦩'.repeat(100)]: 1 }).warnings
    expect(warning?.field.length).toBeLessThanOrEqual(64)
    expect(warning?.field.isWellFormed()).toBe(true)
    expect(accept({ eventName: 'e', visitorId: 'v', ['x'.repeat(64)]: 1 }).warnings[0]?.field).toBe(
      'x'.repeat(64),
    )
  })

  it.each(['0', 'nano', 'false'])('treats the visitor %j as a visitor', (visitorId) => {
    expect(accept({ eventName: 'e', visitorId }).event.visitorId).toBe(visitorId)
  })

  it.each(['', 'yesterday', '2026-02-31T00:00:00Z'])('warns of the unreadable time %j', (clientTimestamp) => {
    expect(warningsOf({ clientTimestamp })).toEqual(['invalid_timestamp'])
  })

  it.each([
    ['2026-11-21T03:59:00+0000', '2026-11-21T03:59:00+00:00'],
    ['2026-11-21 03:59', '2026-11-21T03:59:00Z'],
    [1_795_233_540, '2026-11-21T03:59:00.000Z'],
    ['1795233540000', '2026-11-21T03:59:00.000Z'],
  ])('reads the time %j', (clientTimestamp, time) => {
    const { event, warnings } = accept({ eventName: 'e', visitorId: 'v', clientTimestamp })
    expect(event.clientTimestamp).toBe(time)
    expect(warnings).toEqual([])
  })

  it.each(['', 'yesterday', '2026-11-21T25:00:00Z', 5])(
    'refuses an event of the past with the unreadable time %j',
    (clientTimestamp) => {
      const result = acceptEvent({ eventName: 'e', clientTimestamp }, { ...context, isHistory: true })
      expect(result).toMatchObject({
        accepted: false,
        problem: { field: 'clientTimestamp', rule: 'structure' },
      })
      const readable = { eventName: 'e', clientTimestamp: 1_795_233_540 }
      expect(acceptEvent(readable, { ...context, isHistory: true }).accepted).toBe(true)
    },
  )

  it('warns of numbers in its properties that have more digits than are kept', () => {
    const event =
      '{"eventName":"e","visitorId":"v","properties":{"order":{"id":7211045500123456789},"n":1.5}}'
    expect(accept(parseClientJson(event)).warnings).toEqual([
      {
        field: 'properties.order.id',
        rule: 'inexact_number',
        actual: '7211045500123456789',
        message: expect.stringContaining('7211045500123457000'),
      },
    ])
  })

  it('refuses ids that are numbers', () => {
    for (const field of ['eventId', 'visitorId', 'userId', 'sessionId'])
      expect(
        refuse(parseClientJson(`{"eventName":"e","${field}":7211045500123456789}`)).problem,
      ).toMatchObject({
        field,
        message: expect.stringContaining('must be a string'),
      })
  })

  it('warns of a time more than 24 hours ahead', () => {
    const ahead = (ms: number) => ({ clientTimestamp: new Date(RECEIVED_AT_MS + ms).toISOString() })
    expect(warningsOf(ahead(DAY_MS))).toEqual([])
    expect(warningsOf(ahead(DAY_MS + 1))).toEqual(['future_timestamp'])
    expect(warningsOf({ clientTimestamp: '0001-01-01T00:00:00Z' })).toEqual([])
  })

  it('warns of a time exactly when it does not use it', () => {
    const times = fc
      .integer({ min: -3 * DAY_MS, max: 3 * DAY_MS })
      .map((ms) => new Date(RECEIVED_AT_MS + ms).toISOString())
    fc.assert(
      fc.property(times, fc.option(times), (clientTimestamp, sentAt) => {
        const result = acceptEvent(
          { eventName: 'e', visitorId: 'v', clientTimestamp },
          { ...context, sentAt },
        )
        if (!result.accepted) throw new Error('refused')
        const used = correctedTime(clientTimestamp, sentAt, RECEIVED_AT_MS)
        const isAhead = result.warnings.some(({ rule }) => rule === 'future_timestamp')
        if (isAhead) expect(used).toBe(RECEIVED_AT_MS)
        else if (sentAt === null) expect(used).toBe(Date.parse(clientTimestamp))
        expect(used).toBeLessThanOrEqual(RECEIVED_AT_MS + DAY_MS)
      }),
    )
  })

  it('does not warn of a time over 24 hours ahead that the time of sending corrects', () => {
    const ahead = new Date(RECEIVED_AT_MS + 2 * DAY_MS).toISOString()
    const accepted = acceptEvent(
      { eventName: 'e', visitorId: 'v', clientTimestamp: ahead },
      { ...context, sentAt: ahead },
    )
    expect(accepted).toMatchObject({ warnings: [] })
    expect(correctedTime(ahead, ahead, RECEIVED_AT_MS)).toBe(RECEIVED_AT_MS)
  })

  it('warns of a time that the time of sending moves over 24 hours ahead or before the year 1', () => {
    const at = (ms: number) => new Date(RECEIVED_AT_MS + ms).toISOString()
    const warnings = (clientTimestamp: string, sentAt: string) => {
      const result = acceptEvent({ eventName: 'e', visitorId: 'v', clientTimestamp }, { ...context, sentAt })
      return result.accepted && result.warnings.map(({ rule }) => rule)
    }
    expect(warnings(at(DAY_MS), at(-DAY_MS))).toEqual(['future_timestamp'])
    expect(warnings('0001-01-01T00:00:00Z', at(DAY_MS))).toEqual(['invalid_timestamp'])
  })

  it.each([0, 1])('truncates a long time to well-formed text', (shift) => {
    const clientTimestamp = 'x'.repeat(shift) + '🦩'.repeat(100)
    const [warning] = accept({ eventName: 'e', visitorId: 'v', clientTimestamp }).warnings
    expect(`${warning?.actual}`.isWellFormed()).toBe(true)
    expect(`${warning?.actual}`.length).toBeLessThanOrEqual(64)
  })
})

const nearlyAnEvent = fc.record(
  {
    eventName: fc.oneof(fc.string({ maxLength: 250 }), fc.jsonValue()),
    visitorId: fc.oneof(fc.string(), fc.jsonValue()),
    eventId: fc.oneof(fc.string(), fc.constant(null)),
    properties: fc.oneof(fc.dictionary(fc.string(), fc.jsonValue()), fc.jsonValue()),
    clientTimestamp: fc.oneof(fc.string(), fc.constant('2026-11-21T03:59:00Z')),
    clickIds: fc.dictionary(fc.string(), fc.string()),
  },
  { requiredKeys: [] },
)

describe('any JSON value', () => {
  it('becomes a valid record or is refused with a short sample', () => {
    fc.assert(
      fc.property(fc.oneof(nearlyAnEvent, fc.jsonValue()), (raw) => {
        const before = JSON.stringify(raw)
        const result = acceptEvent(raw, context)
        expect(result.accepted).toBe(trackedEvent.fits(raw))
        expect(JSON.stringify(raw)).toBe(before)
        if (!result.accepted) {
          expect(result.problem.rule).toBe('structure')
          expect(sampleOf(raw).length).toBeLessThanOrEqual(256)
          return
        }
        const record = {
          v: 1,
          kind: 'event',
          projectId: '01900000-0000-7000-8000-000000000001',
          receivedAt: new Date(RECEIVED_AT_MS).toISOString(),
          event: result.event,
          warnings: result.warnings,
        }
        expect(ingestRecords.validator.check(record)).toBeUndefined()
      }),
    )
  })
})

describe('a number beyond the range of a double', () => {
  it.each([
    '{"properties":{"total":1e999}}',
    '{"properties":{"list":[{"a":-1e999}]}}',
    '{"visitorId":1e999}',
  ])('makes an event structurally wrong: %s', (members) => {
    const raw: unknown = { eventName: 'order', ...(JSON.parse(members) as object) }
    expect(acceptEvent(raw, context)).toMatchObject({
      accepted: false,
      problem: { rule: 'structure', message: 'holds a number that is out of range' },
    })
  })
})

describe('the send time of a request', () => {
  it.each([null, undefined])('may be missing: %j', (value) => {
    expect(readSentAt(value)).toEqual({ sentAt: null })
  })

  it.each(['2026-11-21T04:00:00Z', `2026-11-21T04:00:00.${'0'.repeat(43)}Z`])('may be %s', (value) => {
    expect(readSentAt(value)).toEqual({ sentAt: value })
  })

  it.each([7, true, {}, [], '', 'yesterday', '2026-11-21', `2026-11-21T04:00:00.${'0'.repeat(44)}Z`])(
    'is missing with a warning when it is %j',
    (value) => {
      expect(readSentAt(value)).toMatchObject({
        sentAt: null,
        sentAtProblem: { field: 'sentAt', rule: 'invalid_sent_at' },
      })
    },
  )

  it('is shown truncated', () => {
    expect(readSentAt('x'.repeat(1_000)).sentAtProblem?.actual).toBe('x'.repeat(64))
  })
})

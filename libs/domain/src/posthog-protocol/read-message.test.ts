import { MAX_EVENT_BYTES } from '@waymark/contracts/http/track-request'
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { postHogProblem, readPostHogMessage } from './read-message.ts'

const RECEIVED = Date.parse('2026-11-21T04:00:00Z')

const readAll = (raw: unknown, more: object = {}, index = 0) =>
  readPostHogMessage(raw, index, {
    sentAt: undefined,
    receivedAt: RECEIVED,
    isHistory: false,
    mayExceedSize: true,
    settings: {},
    ...more,
  })
const read = (raw: object, more: object = {}) => {
  const [message] = readAll(raw, more)
  if (!message) throw new Error('Nothing was read')
  return message
}
const eventOf = (raw: object, more: object = {}) => read(raw, more).event?.event
const problemsOf = (raw: unknown, more: object = {}) =>
  readAll(raw, more).flatMap(({ problems }) =>
    problems.map(({ field, message }) => `${field} ${message}`.trim()),
  )

describe('a message becomes an event', () => {
  it('with its id, time and properties, without what describes the SDK', () => {
    const message = {
      uuid: '0192f1a4-0000-7000-8000-000000000001',
      event: 'order placed',
      distinct_id: 'user-1',
      timestamp: '2026-11-21T03:59:59.000Z',
      properties: {
        total: 4900,
        token: 'wm_pub_key',
        $lib: 'posthog-node',
        '$feature/checkout': 'green',
        $session_id: 's-1',
        $ip: '203.0.113.9',
        $raw_user_agent: 'Firefox',
        $current_url: 'https://shop.example/sale?utm_source=mail',
        $pathname: '/sale',
        $referrer: '$direct',
      },
    }
    expect(read(message, { sentAt: '2026-11-21T04:00:01.000Z' })).toMatchObject({
      problems: [],
      personChange: undefined,
      sentAt: '2026-11-21T04:00:01.000Z',
      event: {
        event: {
          eventId: '0192f1a4-0000-7000-8000-000000000001',
          eventName: 'order placed',
          userId: 'user-1',
          sessionId: 's-1',
          clientTimestamp: '2026-11-21T03:59:59.000Z',
          properties: { total: 4900, '$feature/checkout': 'green' },
        },
        contextProperties: { url: 'https://shop.example/sale?utm_source=mail', path: '/sale' },
        device: { ip: '203.0.113.9', userAgent: 'Firefox' },
      },
    })
    expect(Object.keys(eventOf(message)?.properties as object)).toEqual(['total', '$feature/checkout'])
  })

  it.each([
    ['$pageview', 'page_view'],
    ['$screen', 'screen_view'],
    ['$pageleave', '$pageleave'],
  ])('%s is called %s', (event, eventName) => {
    expect(eventOf({ event, distinct_id: 'u' })).toMatchObject({ eventName, userId: 'u' })
  })

  it.each([
    [{ distinct_id: 'd', properties: { $device_id: 'd' } }, { visitorId: 'd' }],
    [{ properties: { distinct_id: 'd', $device_id: 'd' } }, { visitorId: 'd' }],
    [
      { distinct_id: 'other', properties: { $device_id: 'd', $is_identified: false } },
      { visitorId: 'other' },
    ],
    [{ distinct_id: 'd', properties: { $process_person_profile: false } }, { visitorId: 'd' }],
    [
      { distinct_id: 'u', properties: { $device_id: 'd', $is_identified: true } },
      { visitorId: 'd', userId: 'u' },
    ],
    [{ distinct_id: 12345678901234567890n.toString(), properties: {} }, { userId: '12345678901234567890' }],
    [{ distinct_id: 7, properties: {} }, { userId: '7' }],
  ])('of the person in %j', (message, ids) => {
    const { visitorId, userId } = { ...eventOf({ event: 'e', ...message }) }
    expect({
      ...(visitorId !== undefined && { visitorId }),
      ...(userId !== undefined && { userId }),
    }).toEqual(ids)
  })

  it('of a group, whose id on servers belongs to nobody', () => {
    const properties = { $group_type: 'company', $group_key: 'acme', $group_set: { plan: 'pro' } }
    const event = eventOf({ event: '$groupidentify', distinct_id: '$company_acme', properties })
    expect(event).toEqual({
      eventName: 'group',
      properties: { groupType: 'company', groupId: 'acme', traits: { plan: 'pro' } },
    })
  })

  it('that happened `offset` ms ago', () => {
    expect(eventOf({ event: 'e', distinct_id: 'u', offset: 1_000 })?.clientTimestamp).toBe(
      '2026-11-21T03:59:59.000Z',
    )
  })
})

describe('a message changes a person', () => {
  const identify = {
    event: '$identify',
    distinct_id: 'u',
    properties: { $anon_distinct_id: 'v', $set: { plan: 'pro', $browser: 'Firefox' } },
  }

  it('by `$identify`, which links the visitor and has no event of its own', () => {
    expect(read(identify)).toMatchObject({
      event: undefined,
      problems: [],
      personChange: { visitorId: 'v', userId: 'u', links: true, traits: { plan: 'pro' } },
    })
    expect(eventOf(identify, { settings: { identifyEvents: true } })).toMatchObject({
      eventName: 'identify',
      properties: { traits: { plan: 'pro' } },
    })
  })

  it('by `$set` and `$unset`, in the message and in its properties', () => {
    const message = { distinct_id: 'u', $set: { a: 2 }, $unset: ['c'], properties: { $set: { a: 1, b: 1 } } }
    expect(read({ event: '$set', ...message })).toMatchObject({
      event: undefined,
      personChange: { userId: 'u', links: false, traits: { a: 2, b: 1, c: null } },
    })
    expect(read({ event: 'e', ...message })).toMatchObject({ event: { event: { eventName: 'e' } } })
  })

  it('by `$set_once`, which is older than every other write and newer than later ones', () => {
    const message = { event: 'e', distinct_id: 'u', $set_once: { first: 1 } }
    const timeOf = (raw: object, more: object, index: number) =>
      readAll(raw, more, index)[1]?.personChange?.happenedAt ?? ''
    const times = [
      timeOf(message, { receivedAt: RECEIVED + 1_000 }, 0),
      timeOf(message, {}, 1),
      timeOf(message, {}, 0),
    ]
    expect(times).toEqual(times.toSorted())
    expect(new Set(times).size).toBe(3)
    expect(Date.parse(times[2] ?? '')).toBeLessThan(0)
    expect(readAll(message)[1]).toMatchObject({ event: undefined, personChange: { traits: { first: 1 } } })
  })

  it('by an alias: the distinct_id is the visitor', () => {
    const message = { event: '$create_alias', distinct_id: 'v', properties: { alias: 'u' } }
    expect(read(message)).toMatchObject({
      event: undefined,
      personChange: { visitorId: 'v', userId: 'u', links: true },
    })
  })

  it('not when it has only traits of the SDK', () => {
    const message = {
      event: 'e',
      distinct_id: 'u',
      $set: { $os: 'Linux' },
      $set_once: { $initial_os: 'Linux' },
    }
    expect(readAll(message)).toHaveLength(1)
    expect(read(message).personChange).toBeUndefined()
  })
})

describe('a message is refused', () => {
  it.each([
    ['text', 'must be an object'],
    [{ distinct_id: 'u' }, 'event must be the name of an event'],
    [{ event: 'e', properties: [] }, 'properties must be an object'],
    [{ event: '$set', $set: { a: 1 } }, 'distinct_id is missing'],
    [{ event: '$create_alias', distinct_id: 'v' }, 'properties.alias is missing'],
    [
      { event: '$create_alias', distinct_id: 'v', properties: { alias: 'v' } },
      'properties.alias is the same as distinct_id',
    ],
    [
      { event: '$identify', distinct_id: 'undefined', properties: { $set: { a: 1 } } },
      'distinct_id looks like a bug in the client',
    ],
  ])('when it is %j', (raw, problem) => {
    expect(problemsOf(raw)).toEqual([problem])
  })

  it('when it is larger than an event may be, and not at the limit', () => {
    const message = { event: 'e', distinct_id: 'u', properties: { text: '' } }
    const room = MAX_EVENT_BYTES - JSON.stringify(message).length
    const withText = (length: number) => ({ ...message, properties: { text: 'x'.repeat(length) } })
    expect(problemsOf(withText(room))).toEqual([])
    expect(problemsOf(withText(room + 1))).toEqual([`is larger than ${MAX_EVENT_BYTES} bytes`])
  })

  it('when it is of the past and its time cannot be read', () => {
    const message = { event: 'e', distinct_id: 'u', timestamp: 'yesterday' }
    expect(problemsOf(message, { isHistory: true })).toEqual([expect.stringMatching(/^timestamp must be/)])
    expect(problemsOf(message)).toEqual([])
  })

  it('with the names of PostHog, and without traits that the project denies', () => {
    expect(postHogProblem({ field: 'eventId', message: 'is too long' })).toMatchObject({ field: 'uuid' })
    const message = { event: 'e', distinct_id: 'u', $set: { secret: 1, plan: 'pro' }, properties: { n: 1 } }
    expect(read(message, { settings: { deniedTraits: ['secret'] } }).summary()).toEqual({
      eventId: undefined,
      eventName: 'e',
      visitorId: undefined,
      userId: 'u',
      content: { message: { event: 'e', properties: { n: 1 }, $set: { plan: 'pro' } } },
    })
  })
})

it('reads whatever is sent', () => {
  const names = fc.constantFrom(
    'event',
    'distinct_id',
    'properties',
    '$set',
    '$set_once',
    '$unset',
    'uuid',
    'offset',
  )
  fc.assert(
    fc.property(fc.dictionary(names, fc.jsonValue()), fc.boolean(), (raw, isHistory) => {
      for (const message of readAll(raw, { isHistory })) expect(message.summary()).toBeDefined()
    }),
  )
})

import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { type AccessLogEntry, parseAccessLogLine } from './access-log.ts'
import type { Line } from './lines.ts'
import { eventIdOf, toPageView, visitorIdOf } from './page-view.ts'

const entry: AccessLogEntry = {
  site: undefined,
  address: '192.0.2.1',
  time: new Date('2015-05-17T10:05:03Z'),
  request: 'GET /a/b?c=d HTTP/1.1',
  target: '/a/b?c=d',
  status: 200,
  referrer: 'http://example.org/',
  userAgent: 'curl/8.5.0',
}
const lineOf = (text: string | Uint8Array, number = 1): Line => ({
  number,
  bytes: Buffer.from(text as string),
  cut: false,
})
const line = lineOf('a line')

test('has the values of the line', () => {
  expect(toPageView(entry, line)).toEqual({
    eventName: 'page_view',
    eventId: eventIdOf(line),
    visitorId: visitorIdOf(entry),
    clientTimestamp: '2015-05-17T10:05:03.000Z',
    properties: {
      url: 'http://localhost/a/b?c=d',
      path: '/a/b',
      referrer: 'http://example.org/',
      userAgent: 'curl/8.5.0',
      ip: '192.0.2.1',
      status: 200,
    },
  })
})

test('omits values that the line lacks', () => {
  const nothing = {
    ...entry,
    address: 'client.example.net',
    time: undefined,
    target: undefined,
    status: undefined,
    referrer: undefined,
    userAgent: undefined,
  }
  expect(toPageView(nothing, line)).toEqual({
    eventName: 'page_view',
    eventId: eventIdOf(line),
    visitorId: visitorIdOf(nothing),
    properties: {},
  })
})

describe('url and path', () => {
  const site = 'https://example.com/base'
  test.each([
    ['/a?b', {}, undefined, 'http://localhost/a?b', '/a'],
    ['/a?b', { site: 'http://vhost.example' }, undefined, 'http://vhost.example/a?b', '/a'],
    ['/a?b', { site: 'http://vhost.example' }, site, 'https://example.com/base/a?b', '/a'],
    ['a#b', {}, undefined, 'http://localhost/a#b', 'a'],
    ['//a//b?c?d', {}, undefined, 'http://localhost//a//b?c?d', '//a//b'],
    ['http://example.org/x?y', {}, site, 'http://example.org/x?y', '/x'],
    ['HTTP://example.org?y', {}, undefined, 'HTTP://example.org?y', '/'],
  ])('of %s', (target, more, base, url, path) => {
    expect(toPageView({ ...entry, ...more, target }, line, base).properties).toMatchObject({ url, path })
  })
})

test.each([
  ['2001:db8::1', '2001:db8::1'],
  ['fe80::1%eth0', 'fe80::1'],
  ['-', undefined],
  ['999.1.1.1', undefined],
])('ip of %s is %s', (address, ip) => {
  expect(toPageView({ ...entry, address }, line).properties.ip).toBe(ip)
})

describe('event id', () => {
  test('is a UUIDv8, the same for the same line at the same place only', () => {
    const ids = [lineOf('a', 1), lineOf('a', 2), lineOf('b', 1), lineOf('2a', 1), lineOf('a', 12)].map(
      eventIdOf,
    )
    expect(new Set(ids).size).toBe(5)
    for (const id of ids) {
      expect(id).toMatch(/^[\da-f]{8}-[\da-f]{4}-8[\da-f]{3}-[89ab][\da-f]{3}-[\da-f]{12}$/)
    }
    expect(eventIdOf(lineOf('a', 1))).toBe(ids[0])
    // A golden value: another algorithm for ids would send every log a second time.
    expect(eventIdOf(lineOf('a line', 1))).toBe('1fba8e18-a1b8-8954-9d17-5b0157f235fd')
  })

  test('of any two lines differ when number or bytes differ', () => {
    const anyLine = fc.tuple(fc.uint8Array(), fc.integer({ min: 1, max: 20 }))
    fc.assert(
      fc.property(anyLine, anyLine, ([a, m], [b, n]) => {
        const same = m === n && Buffer.compare(a, b) === 0
        expect(eventIdOf(lineOf(a, m)) === eventIdOf(lineOf(b, n))).toBe(same)
      }),
    )
  })
})

test('visitor id follows address and agent', () => {
  const id = visitorIdOf(entry)
  expect(id).toMatch(/^v_[\da-f]{32}$/)
  expect(visitorIdOf({ address: entry.address, userAgent: entry.userAgent })).toBe(id)
  expect(visitorIdOf({ ...entry, userAgent: 'other' })).not.toBe(id)
  expect(visitorIdOf({ ...entry, address: '192.0.2.2' })).not.toBe(id)
  expect(visitorIdOf({ address: 'ab', userAgent: 'c' })).not.toBe(
    visitorIdOf({ address: 'a', userAgent: 'bc' }),
  )
})

test('an event stays below 32 KiB and well-formed for any length of the line', () => {
  const unit = fc.constantFrom('a', 'é', '"', '\u0016', '漢', '😀')
  const long = fc.tuple(unit, fc.integer({ min: 0, max: 40_000 })).map(([text, times]) => text.repeat(times))
  fc.assert(
    fc.property(long, long, long, (target, referrer, userAgent) => {
      const event = toPageView({ ...entry, target: `/a${target}`, referrer, userAgent }, line)
      const json = JSON.stringify(event)
      expect(Buffer.byteLength(json)).toBeLessThan(32 * 1024)
      // JSON.stringify escapes a lone surrogate.
      expect(json).not.toMatch(/\\ud[89a-f]/)
      expect(referrer.startsWith(event.properties.referrer ?? '')).toBe(true)
    }),
    { numRuns: 50 },
  )
})

test('any line becomes an event that the server accepts', () => {
  const odd = fc.uint8Array({ maxLength: 60 }).map((bytes) => Buffer.from(bytes).toString('latin1'))
  fc.assert(
    fc.property(odd, odd, odd, odd, (head, request, referrer, agent) => {
      const bytes = Buffer.from(`${head} [x] "${request}" 200 5 "${referrer}" "${agent}"`, 'latin1')
      const parsed = parseAccessLogLine(bytes)
      if (!parsed) return
      const event = toPageView(parsed, lineOf(bytes))
      expect(event.visitorId).toMatch(/^[!-~]{1,200}$/)
      for (const value of Object.values(event.properties)) expect(value).not.toBe('')
      expect(event.properties.url === undefined).toBe(event.properties.path === undefined)
    }),
    { numRuns: 1000 },
  )
})

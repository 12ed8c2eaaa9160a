import { readFileSync } from 'node:fs'
import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { type AccessLogEntry, parseAccessLogLine } from './access-log.ts'

const parse = (line: string) => parseAccessLogLine(Buffer.from(line, 'latin1'))
const fixture = readFileSync(new URL('../fixtures/odd-lines.log', import.meta.url))
const fixtureLines = fixture.toString('latin1').split('\n')
const fixtureEntry = (number: number) => parse(fixtureLines[number - 1] ?? '')

const frame = (parts: { head?: string; time?: string; request?: string; tail?: string }) =>
  `${parts.head ?? '192.0.2.1 - -'} [${parts.time ?? '17/May/2015:10:05:03 +0000'}] ` +
  `"${parts.request ?? 'GET / HTTP/1.1'}" 200 5${parts.tail ?? ' "-" "curl/8.5.0"'}`

test('reads a combined line', () => {
  expect(
    parse(
      '83.149.9.216 - frank [17/May/2015:10:05:03 +0000] "GET /a/b?c=d HTTP/1.1" 200 203023 ' +
        '"http://semicomplete.com/" "Mozilla/5.0 (X11)"',
    ),
  ).toEqual({
    site: undefined,
    address: '83.149.9.216',
    time: new Date('2015-05-17T10:05:03Z'),
    request: 'GET /a/b?c=d HTTP/1.1',
    target: '/a/b?c=d',
    status: 200,
    referrer: 'http://semicomplete.com/',
    userAgent: 'Mozilla/5.0 (X11)',
  } satisfies AccessLogEntry)
})

test('reads a common line, which has neither referrer nor agent', () => {
  expect(parse(frame({ tail: '' }))).toMatchObject({
    target: '/',
    status: 200,
    referrer: undefined,
    userAgent: undefined,
  })
})

describe('client and host', () => {
  test.each([
    ['2001:db8::1 - -', '2001:db8::1', undefined],
    ['::ffff:192.0.2.1 - -', '::ffff:192.0.2.1', undefined],
    ['[2001:db8::1]:4711 - -', '2001:db8::1', undefined],
    ['192.0.2.1:4711 - -', '192.0.2.1', undefined],
    ['crawler.example.net - -', 'crawler.example.net', undefined],
    ['- - -', '-', undefined],
    ['192.0.2.1 - frank of the hill', '192.0.2.1', undefined],
    ['203.0.113.5, 10.0.0.1 - -', '203.0.113.5', undefined],
    ['\u00ef\u00bb\u00bf192.0.2.1 - -', '192.0.2.1', undefined],
    ['example.com:80 192.0.2.1 - -', '192.0.2.1', 'http://example.com'],
    ['example.com:443 2001:db8::1 - -', '2001:db8::1', 'https://example.com'],
    ['example.com 192.0.2.1 - -', '192.0.2.1', 'http://example.com'],
    ['example.com:8080 client.example.net - -', 'client.example.net', 'http://example.com:8080'],
    ['[2001:db8::2]:80 192.0.2.1 - -', '2001:db8::2', undefined],
  ])('%s', (head, address, site) => {
    expect(parse(frame({ head }))).toMatchObject({ address, site })
  })
})

describe('time', () => {
  test.each([
    ['17/May/2015:10:05:03 +0000', '2015-05-17T10:05:03.000Z'],
    ['17/May/2015:10:05:03 +0530', '2015-05-17T04:35:03.000Z'],
    ['31/Dec/2015:23:30:00 -0100', '2016-01-01T00:30:00.000Z'],
    ['29/Feb/2024:12:00:00.25 +0000', '2024-02-29T12:00:00.250Z'],
    ['30/Jun/2015:23:59:60 +0000', '2015-07-01T00:00:00.000Z'],
    ['29/Feb/2023:12:00:00 +0000', undefined],
    ['17/Foo/2015:10:05:03 +0000', undefined],
    ['17/May/2015:25:05:03 +0000', undefined],
    ['-', undefined],
    ['', undefined],
  ])('%s', (time, expected) => {
    expect(parse(frame({ time }))?.time?.toISOString()).toBe(expected)
  })
})

describe('request', () => {
  test.each([
    ['GET /a?b=c HTTP/1.1', '/a?b=c'],
    ['GET /a HTTP/2', '/a'],
    ['get /a http/1.1', '/a'],
    ['GET /with spaces in it HTTP/1.1', '/with spaces in it'],
    ['GET http://example.org/a?b HTTP/1.1', 'http://example.org/a?b'],
    ['GET index.html HTTP/1.0', 'index.html'],
    ['GET /old', '/old'],
    ['/no-method HTTP/1.0', '/no-method'],
    ['OPTIONS * HTTP/1.0', undefined],
    ['CONNECT example.org:443 HTTP/1.1', undefined],
    ['GET', undefined],
    ['GET  HTTP/1.1', undefined],
    ['-', undefined],
    ['', undefined],
    ['USER anonymous', undefined],
    ['\\x16\\x03\\x01\\x02', undefined],
    ['\u0016\u0003\u0001 /', undefined],
  ])('%s', (request, target) => {
    const entry = parse(frame({ request }))
    expect(entry).toMatchObject({ status: 200, userAgent: 'curl/8.5.0' })
    expect(entry?.target).toBe(target)
  })

  test('ends after its protocol when its quotes are not escaped', () => {
    expect(parse(frame({ request: 'GET /?q=" 200 5 " HTTP/1.1' }))?.target).toBe('/?q=" 200 5 "')
  })
})

describe('referrer and agent', () => {
  test.each([
    ['"-" "-"', undefined, undefined],
    ['"" ""', undefined, undefined],
    ['"http://a/" "b"', 'http://a/', 'b'],
    ['"-" "a \\"b\\" c"', undefined, 'a "b" c'],
    ['"http://a/?q=\\"b\\"" "c"', 'http://a/?q="b"', 'c'],
    ['"-" "a "b" c"', undefined, 'a "b" c'],
    ['"-" ""a""', undefined, '"a"'],
    ['"-" "a " lone quote"', undefined, 'a " lone quote'],
    ['"-" "ends in a backslash\\"', undefined, 'ends in a backslash\\'],
    ['"-" "a\\\\"', undefined, 'a\\'],
    ['"-" "a" 0.004', undefined, 'a'],
    ['"-" "a "b" c" 0.004', undefined, 'a "b" c'],
    ['"-" "a" "203.0.113.9" rt=0.001', undefined, 'a'],
    ['"-" "cut o', undefined, 'cut o'],
    ['"cut o', 'cut o', undefined],
    ['"-" "\\xd0\\x9c\\xd0\\xb8\\xd1\\x80"', undefined, 'Мир'],
    ['"http://\\xe4\\xe5/" "\\x22nginx\\x22 \\x5C"', 'http://äå/', '"nginx" \\'],
    ['"-" "tab\\tbed C:\\Dir"', undefined, 'tab\tbed C:\\Dir'],
  ])('%s', (tail, referrer, userAgent) => {
    expect(parse(frame({ tail: ` ${tail}` }))).toMatchObject({ referrer, userAgent })
  })

  test('a field of valid UTF-8 is UTF-8, another one of the same line Latin-1', () => {
    expect(fixtureEntry(26)).toMatchObject({
      target: '/größe',
      referrer: 'http://п.example/',
      userAgent: 'Latin é',
    })
  })
})

test('of the odd lines, only those without the fixed fields are not parsed', () => {
  const strangers = fixtureLines.flatMap((line, index) => (parse(line) ? [] : [index + 1]))
  expect(strangers).toEqual([40, 43, 44])
})

describe('any bytes', () => {
  const bytes = fc.uint8Array({ maxLength: 400 })
  const mutated = fc
    .tuple(fc.constantFrom(...fixtureLines), fc.nat(), fc.nat(20), fc.uint8Array({ maxLength: 20 }))
    .map(([line, at, removed, inserted]) => {
      const start = at % (line.length + 1)
      const original = Buffer.from(line, 'latin1')
      return Buffer.concat([original.subarray(0, start), inserted, original.subarray(start + removed)])
    })

  test('never throw', () => {
    fc.assert(
      fc.property(fc.oneof(bytes, mutated), (line) => {
        parseAccessLogLine(line)
      }),
      { numRuns: 3000 },
    )
  })

  test.each([
    [' '],
    [' ['],
    ['"'],
    ['" "'],
    ['\\'],
    ['\\"'],
    ['a - - [x] "'],
    ['" 200 '],
    [' HTTP/1'],
    ['\t-\t"'],
    ['\\" "'],
  ])('are read in linear time, also %j repeated to a megabyte', (part) => {
    // Quadratic would take minutes, which is longer than a test may take.
    const line = Buffer.from(part.repeat(1_000_000 / part.length))
    parseAccessLogLine(line)
    parse(frame({ request: line.toString() }))
    parse(frame({ tail: line.toString() }))
  })
})

describe('round trip', () => {
  // As Apache writes a field: quotes and backslashes escaped, what is not printable ASCII as \xHH.
  const escapeField = (text: string): string =>
    [...Buffer.from(text)]
      .map((byte) => {
        const character = String.fromCharCode(byte)
        if (character === '"' || character === '\\') return `\\${character}`
        return byte < 0x20 || byte > 0x7e ? `\\x${byte.toString(16).padStart(2, '0')}` : character
      })
      .join('')
  const field = fc
    .string({ unit: 'grapheme', maxLength: 60 })
    .map((text) => text.toWellFormed())
    .filter((text) => text !== '-')
  const target = fc.tuple(field, fc.option(field, { nil: undefined })).map(([path, query]) => {
    const local = `/${path}${query === undefined ? '' : `?${query}`}`
    return local
  })
  const entry = fc.record({
    address: fc.oneof(fc.ipV4(), fc.ipV6(), fc.domain()),
    time: fc.date({
      min: new Date('1990-01-01'),
      max: new Date('2100-01-01'),
      noInvalidDate: true,
    }),
    zone: fc.integer({ min: -14 * 60, max: 14 * 60 }),
    method: fc.constantFrom('GET', 'HEAD', 'POST', 'PROPFIND'),
    target,
    status: fc.integer({ min: 100, max: 599 }),
    size: fc.option(fc.nat()),
    referrer: field,
    userAgent: field,
    extra: fc.constantFrom('', ' 0.004', ' "203.0.113.9"', ' "-" 12 -'),
  })
  type Sample = typeof entry extends fc.Arbitrary<infer T> ? T : never
  const two = (value: number) => String(value).padStart(2, '0')
  const months = 'Jan Feb Mar Apr May Jun Jul Aug Sep Oct Nov Dec'.split(' ')
  const formatTime = ({ time, zone }: Sample) => {
    const local = new Date(time.getTime() + zone * 60_000)
    const clock = local.toISOString().slice(11, 19)
    const offset = `${zone < 0 ? '-' : '+'}${two(Math.floor(Math.abs(zone) / 60))}${two(Math.abs(zone) % 60)}`
    const month = months[local.getUTCMonth()]
    return `${two(local.getUTCDate())}/${month}/${local.getUTCFullYear()}:${clock} ${offset}`
  }
  const format = (sample: Sample, write: (text: string) => string) =>
    `${sample.address} - - [${formatTime(sample)}] "${sample.method} ${write(sample.target)} HTTP/1.1" ` +
    `${sample.status} ${sample.size ?? '-'} "${write(sample.referrer)}" "${write(sample.userAgent)}"${sample.extra}`
  const expected = (sample: Sample) => ({
    site: undefined,
    address: sample.address,
    time: new Date(Math.floor(sample.time.getTime() / 1000) * 1000),
    request: `${sample.method} ${sample.target} HTTP/1.1`,
    target: sample.target,
    status: sample.status,
    referrer: sample.referrer === '' ? undefined : sample.referrer,
    userAgent: sample.userAgent === '' ? undefined : sample.userAgent,
  })

  test('of every field, escaped', () => {
    fc.assert(
      fc.property(entry, (sample) => {
        const line = format(sample, escapeField)
        expect(parseAccessLogLine(Buffer.from(line))).toEqual(expected(sample))
      }),
      { numRuns: 1000 },
    )
  })

  test('of every field, raw UTF-8 without quotes and backslashes', () => {
    fc.assert(
      fc.property(entry, (sample) => {
        const plain = (text: string) => text.replaceAll(/["\\]/g, '_')
        const [path, referrer, userAgent] = [sample.target, sample.referrer, sample.userAgent].map(plain)
        const tame = { ...sample, target: path ?? '', referrer: referrer ?? '', userAgent: userAgent ?? '' }
        const line = format(tame, (text) => text)
        expect(parseAccessLogLine(Buffer.from(line))).toEqual(expected(tame))
      }),
      { numRuns: 1000 },
    )
  })

  test('of an agent with unescaped quotes around its words', () => {
    const word = fc.stringMatching(/^[a-z0-9();/.]{1,8}$/)
    const agent = fc
      .array(word, { minLength: 1, maxLength: 5 })
      .map((words) => `a "${words.join('" b "')}" c`)
    fc.assert(
      fc.property(agent, (text) => {
        expect(parse(frame({ tail: ` "-" "${text}"` }))?.userAgent).toBe(text)
      }),
    )
  })
})

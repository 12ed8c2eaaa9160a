import fc from 'fast-check'

const VERBATIM = Symbol('verbatim')
type Verbatim = { [VERBATIM]: string }

/** A placeholder in a JSON value for text that `JSON.stringify` never writes; `writeJson` writes it unchanged. */
const verbatim = (text: string): Verbatim => ({ [VERBATIM]: text })

const isVerbatim = (value: unknown): value is Verbatim =>
  typeof value === 'object' && value !== null && VERBATIM in value

/** A deep copy of a value. */
export const copyOf = (value: unknown): unknown => {
  if (typeof value !== 'object' || value === null || isVerbatim(value)) return value
  if (Array.isArray(value)) return value.map(copyOf)
  return Object.fromEntries(Object.entries(value).map(([name, member]) => [name, copyOf(member)]))
}

/** The JSON text of a value or placeholder; empty for undefined. */
export const writeJson = (value: unknown): string => {
  const texts: string[] = []
  const marked = JSON.stringify(value, (_name, member: unknown) =>
    isVerbatim(member) ? `\ue000${texts.push(member[VERBATIM]) - 1}\ue000` : member,
  )
  return (marked ?? '').replace(/"\ue000(\d+)\ue000"/g, (_, index: string) => texts[Number(index)] ?? '')
}

const numbers = [0, -0, -1, 0.1, 1e-320, 1e21, 1e308, -1e308, 2 ** 31, 2 ** 32, 2 ** 53 + 2, -(2 ** 63)]

const tokens = [
  '1e999',
  '-1e999',
  '1e-999',
  '-0',
  '123456789012345678901234567890',
  `1${'0'.repeat(400)}`,
  'NaN',
  'undefined',
  '01',
  '0x10',
  "'a'",
  '1,',
  '"\\ud800"',
  '"\\u0000"',
  '{"a":1,"a":2}',
  '{"__proto__":{"isAdmin":true}}',
  '{"constructor":{"prototype":{"isAdmin":true}}}',
]

const texts = [
  '',
  ' ',
  '\u0000',
  'a\u0000b',
  '\ud800',
  'a\udc00',
  '\ufeff',
  '\u202e\u2066',
  'é',
  'e\u0301',
  '\u{1f9d1}\u200d\u{1f680}',
  '__proto__',
  'constructor',
  'toString',
  'hasOwnProperty',
  '*',
  '%',
  '%00',
  '..',
  '../../../../etc/passwd',
  '/',
  '\\',
  ':',
  '.',
  '-',
  '#',
  '?',
  '[object Object]',
  'null',
  'undefined',
  'NaN',
  'a\r\nSet-Cookie: a=b',
  'a\nBcc: other@example.com',
  "' OR 1=1 --",
  '"; DROP TABLE users; --',
  '$1',
  // biome-ignore lint/suspicious/noTemplateCurlyInString: it is sent as it stands
  '${7*7}',
  '{{7*7}}',
  '{% for a in (1..1000000000) %}a{% endfor %}',
  '{{ "a" | append: "a" }}',
  '<script>alert(1)</script>',
  '=HYPERLINK("http://a")',
  'javascript:alert(1)',
  'data:text/html,a',
  'http://user:password@127.0.0.1/',
  'http://[::1]/',
  'https://xn--/',
  'https://example.com/\ud800',
  '(a+)+$',
  '(?<a>.)\\k<a>',
  '0000-01-01T00:00:00Z',
  '9999-12-31T23:59:59.999Z',
  '2024-02-30T00:00:00Z',
  '2016-12-31T23:59:60Z',
  '2024-01-01T00:00:00+23:59',
  '-271821-04-20T00:00:00.000Z',
  '+275760-09-13T00:00:00.000Z',
  'Infinity',
  '1e999',
  '9223372036854775808',
  '99999999999999999999999999',
  '00000000-0000-0000-0000-000000000000',
  'ffffffff-ffff-ffff-ffff-ffffffffffff',
  'a@b',
  '"a b"@example.com',
  `${'a'.repeat(300)}@example.com`,
]

const nested = (levels: number, of: 'array' | 'object' | 'not'): string => {
  const [open, close] = { array: ['[', ']'], object: ['{"a":', '}'], not: ['{"!":', '}'] }[of]
  return `${open?.repeat(levels)}1${close?.repeat(levels)}`
}

/** A text with a length at which something is truncated, refused or slow. */
const long = fc
  .record({
    character: fc.constantFrom('a', '\u0000', '\ud83d\ude00', '\ud800', ' ', '%', '{{', '&', '['),
    length: fc.constantFrom(64, 65, 200, 201, 255, 256, 257, 1_000, 1_001, 8_192, 8_193, 33_000, 70_000),
  })
  .map(({ character, length }) => character.repeat(length))

const deep = fc
  .record({
    levels: fc.constantFrom(2, 3, 10, 11, 20, 21, 100, 1_000, 10_000),
    of: fc.constantFrom('array', 'object', 'not'),
  })
  .map(({ levels, of }) => verbatim(nested(levels, of)))

const wide = fc.constantFrom(11, 51, 101, 501, 1_001, 5_000).chain((length) =>
  fc.constantFrom<unknown>(
    Array.from({ length }, (_, index) => index),
    Array.from({ length }, () => ({})),
    Object.fromEntries(Array.from({ length }, (_, index) => [`key-${index}`, index])),
  ),
)

/** A text that an attacker might send. */
export const hostileText = fc.oneof(
  { weight: 6, arbitrary: fc.constantFrom(...texts) },
  { weight: 2, arbitrary: fc.string({ unit: 'binary', maxLength: 40 }) },
  { weight: 1, arbitrary: long },
)

/** A JSON value that an attacker might send. */
export const hostileValue: fc.Arbitrary<unknown> = fc.oneof(
  { weight: 4, arbitrary: hostileText },
  { weight: 3, arbitrary: fc.constantFrom<unknown>(null, true, false, [], {}, [[]], [null], { '': '' }) },
  { weight: 3, arbitrary: fc.constantFrom<unknown>(...numbers) },
  { weight: 2, arbitrary: fc.constantFrom(...tokens).map(verbatim) },
  { weight: 1, arbitrary: deep },
  { weight: 1, arbitrary: wide },
  { weight: 2, arbitrary: fc.jsonValue({ maxDepth: 3 }) },
)

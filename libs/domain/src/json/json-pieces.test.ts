import { numberSource } from '@waymark/contracts/number-source'
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { holdsNumberOutOfRange, parseClientJson } from './client-json.ts'
import { JsonLimitError, parseInPieces } from './json-pieces.ts'

const NO_LIMITS = {
  values: Number.POSITIVE_INFINITY,
  pieceValues: Number.POSITIVE_INFINITY,
  pieceLength: Number.POSITIVE_INFINITY,
}

/** Parses a text to its end. Returns the result and the number of pieces. */
const parseAll = (text: string, limits = NO_LIMITS) => {
  const parsing = parseInPieces(text, parseClientJson, limits)
  for (let pieces = 0; ; pieces++) {
    const { done, value } = parsing.next()
    if (done) return { value, pieces }
  }
}
/** The result of parsing, or that it failed. */
const outcome = (parse: () => unknown): unknown => {
  try {
    return { value: parse() }
  } catch (error) {
    if (!(error instanceof SyntaxError)) throw error
    return 'not JSON'
  }
}
const numbers = (count: number) => Array.from({ length: count }, (_, n) => n)

describe('parseInPieces', () => {
  it('parses any JSON as JSON.parse does', () => {
    fc.assert(
      fc.property(fc.json(), fc.constantFrom(0, 1), (text, indent) => {
        const shown = JSON.stringify(JSON.parse(text), null, indent)
        expect(parseAll(shown).value).toEqual(JSON.parse(shown))
      }),
    )
  })

  it('refuses any text that is not JSON', () => {
    const change = fc.tuple(
      fc.json(),
      fc.nat(),
      fc.constantFrom('', ',', ']', '}', '[', '{', '"', '\\', ':', '1'),
    )
    fc.assert(
      fc.property(change, ([text, place, sign]) => {
        const at = place % (text.length + 1)
        const changed = text.slice(0, at) + sign + text.slice(at + (place % 2))
        expect(outcome(() => parseAll(changed).value)).toEqual(outcome(() => JSON.parse(changed)))
      }),
    )
  })

  it.each([
    '[1,]',
    '[,1]',
    '[1,,2]',
    '[1]x',
    '{"a":[1],}',
    '{"a":[1] "b":2}',
    '{"a":[1]}x',
    '\u0001[1]',
    `[${'1,'.repeat(20_000)}]`,
    `[${'1,'.repeat(20_000)},1]`,
  ])('refuses what is not JSON: %s', (text) => {
    expect(() => parseAll(text)).toThrow(SyntaxError)
  })

  it('divides long lists, at the top and in an object', () => {
    const events = numbers(30_000)
    const list = parseAll(JSON.stringify(events))
    expect(list.value).toEqual(events)
    expect(list.pieces).toBeGreaterThan(5)
    const body = { context: { a: [1] }, events, sentAt: 'now' }
    const object = parseAll(JSON.stringify(body))
    expect(object.value).toEqual(body)
    expect(Object.keys(object.value as object)).toEqual(['context', 'events', 'sentAt'])
    expect(object.pieces).toBeGreaterThan(5)
  })

  it('takes the last of members with the same name, and `__proto__` as a member', () => {
    expect(parseAll('{"a":[1],"a":[2]}').value).toEqual({ a: [2] })
    expect(parseAll('{"a":[1],"a":3}').value).toEqual({ a: 3 })
    const value = parseAll('{"__proto__":[1]}').value as object
    expect(Object.getOwnPropertyDescriptor(value, '__proto__')?.value).toEqual([1])
    expect(Object.getPrototypeOf(value)).toBe(Object.prototype)
  })

  it('keeps the source text of numbers in every piece', () => {
    const id = '7211045500123456789'
    const list = parseAll(`[${'1,'.repeat(30_000)}${id}]`).value as unknown[]
    expect(numberSource(list, '30000')).toBe(id)
    const body = parseAll(`{"userId":${id},"events":[{"userId":${id}}]}`).value as { events: object[] }
    expect(numberSource(body, 'userId')).toBe(id)
    expect(numberSource(body.events[0] ?? {}, 'userId')).toBe(id)
  })

  it.each([
    ['[1,2,3]', 3],
    ['{"a":1,"b":2}', 2],
    ['{"a":[],"b":[1,2]}', 4],
    ['[ [], { },[1,2]]', 5],
    ['{"a":{"b":[1]}}', 3],
    ['["a,b[c{d","\\"],[{","\\\\",1]', 4],
    ['[]', 0],
  ])('counts the values of %s: %d', (text, values) => {
    expect(outcome(() => parseAll(text, { ...NO_LIMITS, values }).value)).toEqual({ value: JSON.parse(text) })
    if (values > 0) expect(() => parseAll(text, { ...NO_LIMITS, values: values - 1 })).toThrow(JsonLimitError)
  })

  it('limits the length of an item and of what is beside the lists', () => {
    const limits = { ...NO_LIMITS, pieceLength: 5 }
    for (const text of ['["abc","def","ghi"]', '{"a":"abc","list":["abc","def"]}', '[12345,[1,2]]'])
      expect(parseAll(text, limits).value).toEqual(JSON.parse(text))
    for (const text of ['["abcd"]', '{"a":"abcd"}', '{"a":123,"b":456}', '[[1,23]]', `[${' '.repeat(9)}]`])
      expect(() => parseAll(text, limits)).toThrow(JsonLimitError)
  })

  it('limits the values of an item and of what is beside the lists', () => {
    const limits = { ...NO_LIMITS, pieceValues: 3 }
    for (const text of ['[1,2,3,4,5]', '[{"a":[1]}]', '{"a":1,"b":2,"c":3,"d":[1,2,3,4]}'])
      expect(parseAll(text, limits).value).toEqual(JSON.parse(text))
    for (const text of ['[{"a":[1,2]}]', '{"a":1,"b":2,"c":3,"d":4}', '{"a":{"b":1,"c":2,"d":3}}', '[[[[[[['])
      expect(() => parseAll(text, limits)).toThrow(JsonLimitError)
  })
})

it('finds a number out of range without counting its digits from each of them', () => {
  const outOfRange = (source: string) => holdsNumberOutOfRange(`[${source}]`, JSON.parse(`[${source}]`))
  expect(outOfRange('9'.repeat(309))).toBe(true)
  expect(outOfRange('9'.repeat(308))).toBe(false)
  expect(outOfRange(`1.${'9'.repeat(400)}`)).toBe(false)
  expect(outOfRange('1e400')).toBe(true)
  expect(outOfRange('1E+400')).toBe(true)
})

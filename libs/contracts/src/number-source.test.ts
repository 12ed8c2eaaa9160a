import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import {
  mergeMembers,
  numberSource,
  numbersThatLostDigits,
  parseNumbers,
  withIntegersAsText,
  withoutMember,
} from './number-source.ts'

const objectOf = (source: string) => parseNumbers(`{"id": ${source}}`) as Record<string, unknown>
const sourceOf = (source: string) => numberSource(objectOf(source), 'id')

describe('numberSource', () => {
  it.each([
    '7211045500123456789',
    '9007199254740993',
    '-9007199254740993',
    '18446744073709551616',
    '12345678901234567890123456789012345678901234567890',
    '0.1234567890123456789',
    '12345678901234567.5',
    '7211045500123456789.00',
    '1e-400',
  ])('has all digits of %s', (source) => {
    expect(sourceOf(source)).toBe(source)
  })

  it.each([
    '0',
    '-0',
    '1.50',
    '19.99',
    '1e3',
    '9007199254740991',
    '9007199254740992',
    '0.30000000000000004',
    '100000000000000000000000',
    '1000000000000000000000.000',
    '0.00000000000000000001',
  ])('is undefined for %s, which a double holds', (source) => {
    expect(sourceOf(source)).toBeUndefined()
  })

  it('has the digits of any integer that a double does not hold', () => {
    fc.assert(
      fc.property(fc.bigInt(), (id) => {
        const value = Number(id)
        const isSame = Number.isSafeInteger(value) || String(value) === `${id}`
        expect(sourceOf(`${id}`) ?? (isSame ? `${id}` : undefined)).toBe(`${id}`)
      }),
    )
  })

  it('keeps two ids apart that are the same double', () => {
    const distance = fc.bigInt({ min: 1n, max: 9n })
    fc.assert(
      fc.property(fc.bigInt({ min: 2n ** 60n, max: 2n ** 64n }), distance, (id, more) => {
        expect(sourceOf(`${id}`) ?? `${id}`).not.toBe(sourceOf(`${id + more}`) ?? `${id + more}`)
      }),
    )
  })

  it('is undefined for every double that JavaScript wrote', () => {
    fc.assert(
      fc.property(fc.double({ noNaN: true, noDefaultInfinity: true }), (value) => {
        expect(sourceOf(JSON.stringify(value))).toBeUndefined()
      }),
    )
  })

  it('is undefined for digits in a text', () => {
    expect(sourceOf('"a: 7211045500123456789"')).toBeUndefined()
  })
})

describe('parseNumbers', () => {
  it('parses like JSON.parse', () => {
    fc.assert(
      fc.property(fc.json(), fc.bigInt(), (json, id) => {
        const text = `[${json}, {"__proto__": ${id}, "constructor": ${id}}]`
        expect(parseNumbers(text)).toEqual(JSON.parse(text))
      }),
    )
  })

  it('parses what is nested deeply', () => {
    const levels = 50_000
    const text = `${'['.repeat(levels)}7211045500123456789${']'.repeat(levels)}`
    expect(Array.isArray(parseNumbers(text))).toBe(true)
  })
})

describe('withIntegersAsText', () => {
  it('replaces integers that lost digits, at any level, and nothing else', () => {
    const traits = parseNumbers(
      '{"crm": 7211045500123456789, "n": 12, "ratio": 0.1234567890123456789, "all": [1, 9007199254740993], "in": {"id": -9007199254740993}}',
    )
    expect(withIntegersAsText(traits)).toEqual({
      crm: '7211045500123456789',
      n: 12,
      ratio: 0.12345678901234568,
      all: [1, '9007199254740993'],
      in: { id: '-9007199254740993' },
    })
    const plain = { a: [1, { b: 'c' }] }
    expect(withIntegersAsText(plain)).toBe(plain)
  })
})

describe('numbersThatLostDigits', () => {
  it('names them with their path and source, up to a limit', () => {
    const value = parseNumbers('{"a": {"b": [1, 7211045500123456789]}, "c": 9007199254740993, "d": 1.5}')
    const a = { path: 'a.b.1', source: '7211045500123456789', value: 7211045500123457000 }
    const c = { path: 'c', source: '9007199254740993', value: 9007199254740992 }
    expect(numbersThatLostDigits(value, 10)).toEqual([a, c])
    expect(numbersThatLostDigits(value, 1)).toEqual([a])
  })
})

describe('mergeMembers', () => {
  it('keeps the digits of both objects', () => {
    const merged = mergeMembers(
      parseNumbers('{"a": 7211045500123456789, "b": 7211045500123456789}') as Record<string, unknown>,
      parseNumbers('{"b": 1, "c": 9007199254740993}') as Record<string, unknown>,
    )
    expect(['a', 'b', 'c'].map((key) => numberSource(merged, key))).toEqual([
      '7211045500123456789',
      undefined,
      '9007199254740993',
    ])
  })
})

it('keeps the digits of an object without one of its members', () => {
  const object = parseNumbers('{"key":7211045500123456789,"id":7211045500123456788,"name":"x"}') as object
  const rest = withoutMember(object, 'key')
  expect(Object.keys(rest)).toEqual(['id', 'name'])
  expect([numberSource(rest, 'id'), numberSource(rest, 'key')]).toEqual(['7211045500123456788', undefined])
})

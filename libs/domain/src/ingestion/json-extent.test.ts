import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { extentOf, holdsInfinity, isDeeperThan } from './json-extent.ts'

const parsed = fc.json({ maxDepth: 6 }).map((text): unknown => JSON.parse(text))

describe('the extent of a JSON value', () => {
  it('is never smaller than what is written', () => {
    fc.assert(
      fc.property(parsed, (value) => {
        expect(extentOf(value, 20).bytesAtMost).toBeGreaterThanOrEqual(
          Buffer.byteLength(JSON.stringify(value)),
        )
      }),
    )
  })

  it.each([
    '\u0001'.repeat(100),
    '\ud800'.repeat(100),
    '"\\'.repeat(100),
    '€😀'.repeat(100),
    -1.7976931348623157e308,
    -2.2250738585072014e-308,
    123456789012345680000,
    -0.0000012345678901234567,
    [],
    {},
    [[], [[]], {}],
    { a: {}, b: [{}] },
    [false, null, true],
    JSON.parse('{"__proto__":{"\\u0002":[0.000001]}}'),
  ])('holds for %j', (value) => {
    expect(extentOf(value, 20).bytesAtMost).toBeGreaterThanOrEqual(Buffer.byteLength(JSON.stringify(value)))
  })

  it('is small enough that an ordinary event is known to be one', () => {
    const event = { eventName: 'page_view', properties: { url: 'https://shop.example/shoes', price: 4990 } }
    expect(extentOf(event, 20).bytesAtMost).toBeLessThan(1_000)
  })

  it('knows what is too deep and what is out of range', () => {
    fc.assert(
      fc.property(parsed, fc.nat(6), (value, maxDepth) => {
        expect(extentOf(value, maxDepth).tooDeep).toBe(isDeeperThan(value, maxDepth))
      }),
    )
    for (const text of ['1e999', '[{"a":-1e400}]', '{"a":[1,{"b":1e309}]}', '1e308', '{}']) {
      const value: unknown = JSON.parse(text)
      expect(extentOf(value, 20).outOfRange).toBe(holdsInfinity(value))
    }
  })

  it('does not go deeper than it may', () => {
    expect(extentOf(JSON.parse('['.repeat(100_000) + ']'.repeat(100_000)), 20).tooDeep).toBe(true)
  })
})

import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { holdsNumberOutOfRange } from './json-extent.ts'

const holds = (text: string): boolean => holdsNumberOutOfRange(text, JSON.parse(text))

describe('a number out of range', () => {
  it.each([
    '1e999',
    '-1e999',
    '[1E+309]',
    '{"a":{"b":[0,1.5e0400]}}',
    `1${'0'.repeat(309)}`,
    `1${'0'.repeat(250)}e99`,
    `0.${'0'.repeat(10)}1e400`,
  ])('is found in %s', (text) => expect(holds(text)).toBe(true))

  it.each([
    '1e308',
    '-1.7976931348623157e308',
    '1e-999',
    '"1e999"',
    `1${'0'.repeat(308)}`,
    '"5e123"',
    '{"1e999":1}',
  ])('is not in %s', (text) => expect(holds(text)).toBe(false))

  it('is found wherever parsing makes it infinite', () => {
    const number = fc
      .tuple(fc.bigInt({ min: 0n, max: 10n ** 320n }), fc.integer({ min: 0, max: 320 }))
      .map(([digits, exponent]) => `${digits}e${exponent}`)
    fc.assert(
      fc.property(number, (text) => {
        expect(holds(`{"a":[${text}]}`)).toBe(!Number.isFinite(Number(text)))
      }),
    )
  })
})

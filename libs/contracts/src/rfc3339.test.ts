import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { parseRfc3339 } from './rfc3339.ts'

describe('parseRfc3339', () => {
  it.each([
    ['1985-04-12T23:20:50.52Z', '1985-04-12T23:20:50.520Z'],
    ['1996-12-19T16:39:57-08:00', '1996-12-20T00:39:57.000Z'],
    ['1990-12-31T23:59:60Z', '1990-12-31T23:59:59.000Z'],
    ['1937-01-01T12:00:27.87+00:20', '1937-01-01T11:40:27.870Z'],
    ['2026-11-21t04:00:00z', '2026-11-21T04:00:00.000Z'],
    ['2026-11-21 04:00:00Z', '2026-11-21T04:00:00.000Z'],
    ['2026-11-21T04:00:00.123456789Z', '2026-11-21T04:00:00.123Z'],
    ['2026-11-21T04:00:00-00:00', '2026-11-21T04:00:00.000Z'],
    ['2024-02-29T00:00:00Z', '2024-02-29T00:00:00.000Z'],
    ['0001-01-01T00:00:00Z', '0001-01-01T00:00:00.000Z'],
    ['9999-12-31T23:59:59.999Z', '9999-12-31T23:59:59.999Z'],
  ])('reads %s', (text, time) => {
    expect(new Date(parseRfc3339(text) ?? Number.NaN).toISOString()).toBe(time)
  })

  it.each([
    '',
    'now',
    '1732161600000',
    '2026-11-21',
    '2026-11-21T04:00:00',
    '2026-11-21T04:00Z',
    '2026-11-21T04:00:00.Z',
    '2026-11-21T04:00:00+0100',
    '2026-11-21T04:00:00+24:00',
    '2026-11-21T24:00:00Z',
    '2026-11-21T04:60:00Z',
    '2026-11-21T04:00:61Z',
    '2026-00-10T00:00:00Z',
    '2026-13-10T00:00:00Z',
    '2026-01-00T00:00:00Z',
    '2026-02-29T00:00:00Z',
    '1900-02-29T00:00:00Z',
    '2026-04-31T00:00:00Z',
    '0000-01-01T00:00:00Z',
    '0001-01-01T00:00:00+00:01',
    '9999-12-31T23:59:59-00:01',
    '12026-11-21T04:00:00Z',
    '-2026-11-21T04:00:00Z',
    ' 2026-11-21T04:00:00Z',
    '2026-11-21T04:00:00Z\n',
    '２０２６-11-21T04:00:00Z',
  ])('refuses %j', (text) => {
    expect(parseRfc3339(text)).toBeUndefined()
  })

  it('accepts every time that Date writes', () => {
    const dates = fc.date({
      min: new Date('0001-01-01T00:00:00Z'),
      max: new Date('9999-12-31T23:59:59.999Z'),
      noInvalidDate: true,
    })
    fc.assert(
      fc.property(dates, (date) => {
        expect(parseRfc3339(date.toISOString())).toBe(date.getTime())
      }),
    )
  })

  it('returns a usable time or undefined for any input', () => {
    const shuffled = fc.array(fc.constantFrom(...'0123456789-:TZ.+ '), { minLength: 15, maxLength: 30 })
    const texts = fc.oneof(
      fc.string(),
      shuffled.map((parts) => parts.join('')),
    )
    fc.assert(
      fc.property(texts, (text) => {
        expect(parseRfc3339(text)).not.toBeNaN()
      }),
    )
  })

  it('reads a fraction of a megabyte quickly', () => {
    expect(parseRfc3339(`2026-11-21T04:00:00.5${'0'.repeat(1_000_000)}Z`)).toBe(
      Date.parse('2026-11-21T04:00:00.500Z'),
    )
  })
})

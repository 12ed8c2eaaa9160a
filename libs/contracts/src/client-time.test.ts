import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { readClientTime, rfc3339OfClientTime } from './client-time.ts'
import { parseRfc3339 } from './rfc3339.ts'

const MS = Date.parse('2024-05-05T10:00:00Z')

describe('readClientTime', () => {
  it.each([
    '2024-05-05T10:00:00Z',
    '2024-05-05T10:00:00+0000',
    '2024-05-05T10:00:00+00',
    '2024-05-05T12:00:00+0200',
    '2024-05-05T12:00:00+02',
    '2024-05-05T12:00+02:00',
    '2024-05-05T10:00Z',
    '2024-05-05T10:00',
    '2024-05-05T10:00:00',
    '2024-05-05T10:00:00.000000',
    '2024-05-05T10:00:00.000000+0000',
    '2024-05-05T10:00:00,000Z',
    '2024-05-05 10:00:00',
    '2024-05-05 10:00:00 UTC',
    '2024-05-05 10:00:00 +0000',
    '2024-05-05 10:00:00 +0000 UTC',
    '2024-05-05 12:00:00.000 +0200 CEST',
    '2024-05-05 10:00:00.000000+00',
    '2024-05-05T12:00+02:00[Europe/Berlin]',
    '2024-05-05T10:00:00Z[UTC]',
    '20240505T100000Z',
    '20240505T120000+0200',
    '20240505T100000.000Z',
    ' 2024-05-05T10:00:00Z\n',
    1714903200,
    1714903200000,
    1714903200.0004,
    '1714903200',
    '1714903200000',
    '1714903200.000000',
  ])('reads %j', (value) => {
    expect(readClientTime(value)).toBe(MS)
  })

  it.each([
    ['2024-05-05', '2024-05-05T00:00:00Z'],
    ['20240505', '2024-05-05T00:00:00Z'],
    ['2024-05-05T10:00:00,25+0100', '2024-05-05T10:00:00.25+01:00'],
    [1714903200.25, '2024-05-05T10:00:00.250Z'],
    [100_000_000, '1973-03-03T09:46:40.000Z'],
    [100_000_000_000, '1973-03-03T09:46:40.000Z'],
  ])('reads %j as %s', (value, time) => {
    expect(rfc3339OfClientTime(value)).toBe(time)
  })

  it.each([
    '',
    ' ',
    'now',
    'yesterday',
    '0',
    0,
    5,
    -1714903200,
    99_999_999,
    Number.NaN,
    Number.POSITIVE_INFINITY,
    1714903200000000,
    '2024-05-05T10',
    '2024-02-30',
    '20240230',
    '2024-13-05T10:00:00+0000',
    '2024-05-05T25:00:00+0000',
    '2024-05-05T10:60',
    '2024-05-05T10:00:00+2',
    '2024-05-05T10:00:00+02:0',
    '2024-05-05T10:00:00 CET',
    '05/05/2024',
    '2024-05-05Tx',
    'x'.repeat(200),
    null,
    undefined,
    true,
    {},
    [1714903200],
  ])('does not read %j', (value) => {
    expect(readClientTime(value)).toBeUndefined()
  })

  it('reads every way to write a time as the same time', () => {
    const times = fc
      .date({
        min: new Date('1975-01-01T00:00:00Z'),
        max: new Date('2100-01-01T00:00:00Z'),
        noInvalidDate: true,
      })
      .map((date) => Math.floor(date.getTime() / 1_000) * 1_000)
    const zones = fc.integer({ min: -12 * 60, max: 14 * 60 })
    fc.assert(
      fc.property(times, zones, fc.constantFrom('T', 't', ' '), (time, minutes, separator) => {
        const local = new Date(time + minutes * 60_000).toISOString()
        const digits = [Math.trunc(Math.abs(minutes) / 60), Math.abs(minutes) % 60].map((part) =>
          `${part}`.padStart(2, '0'),
        )
        const sign = minutes < 0 ? '-' : '+'
        const stem = `${local.slice(0, 10)}${separator}${local.slice(11, 19)}`
        for (const colon of ['', ':'])
          for (const fraction of ['', '.0', '.000000', ',000'])
            expect(readClientTime(`${stem}${fraction}${sign}${digits.join(colon)}`)).toBe(time)
        if (time % 60_000 === 0)
          expect(readClientTime(`${stem.slice(0, 16)}${sign}${digits.join('')}`)).toBe(time)
        for (const epoch of [time, time / 1_000, `${time}`, `${time / 1_000}`])
          expect(readClientTime(epoch)).toBe(time)
      }),
    )
  })

  it('answers an RFC 3339 time or nothing, for any value', () => {
    const pieces = fc.array(
      fc.constantFrom(
        '2024',
        '05',
        '-',
        'T',
        ':',
        '10',
        '.',
        ',',
        '+',
        'Z',
        ' ',
        '0',
        '1714903200',
        '[',
        ']',
      ),
      { maxLength: 24 },
    )
    fc.assert(
      fc.property(
        fc.oneof(
          fc.anything(),
          fc.double(),
          pieces.map((all) => all.join('')),
        ),
        (value) => {
          const time = rfc3339OfClientTime(value)
          expect(time === undefined || parseRfc3339(time) !== undefined).toBe(true)
        },
      ),
    )
  })
})

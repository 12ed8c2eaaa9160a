import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { correctedTime } from './corrected-time.ts'

const RECEIVED = Date.parse('2026-11-21T04:00:00.000Z')
const HOUR_MS = 60 * 60 * 1000
const DAY_MS = 24 * HOUR_MS

const iso = (ms: number) => new Date(ms).toISOString()
const fromNow = (ms: number) => iso(RECEIVED + ms)

describe('correctedTime', () => {
  it.each([null, '', 'yesterday', '2026-02-31T00:00:00Z'])('is the time of receipt for %j', (timestamp) => {
    expect(correctedTime(timestamp, fromNow(-HOUR_MS), RECEIVED)).toBe(RECEIVED)
  })

  it.each([null, 'nonsense'])('is the client time when it sent %j as its clock', (sentAt) => {
    expect(correctedTime(fromNow(-HOUR_MS), sentAt, RECEIVED)).toBe(RECEIVED - HOUR_MS)
  })

  it.each([
    ['5 s slow', -5_000, 0],
    ['5 s fast', 5_000, 0],
    ['5.001 s slow', -5_001, 5_001],
    ['5.001 s fast', 5_001, -5_001],
    ['a year slow', -365 * DAY_MS, 365 * DAY_MS],
  ])('moves the event when the clock is off by over 5 s: %s', (_, offset, moved) => {
    const happened = RECEIVED + offset - HOUR_MS
    expect(correctedTime(iso(happened), fromNow(offset), RECEIVED)).toBe(happened + moved)
  })

  it('trusts 24 hours ahead of receipt and not a millisecond more', () => {
    expect(correctedTime(fromNow(DAY_MS), null, RECEIVED)).toBe(RECEIVED + DAY_MS)
    expect(correctedTime(fromNow(DAY_MS + 1), null, RECEIVED)).toBe(RECEIVED)
  })

  it('measures how far ahead an event is after the correction', () => {
    const clockAhead = 2 * DAY_MS
    expect(correctedTime(fromNow(clockAhead - HOUR_MS), fromNow(clockAhead), RECEIVED)).toBe(
      RECEIVED - HOUR_MS,
    )
  })

  it('does not bound the past', () => {
    expect(correctedTime('1970-01-01T00:00:00Z', null, RECEIVED)).toBe(0)
    expect(correctedTime('0001-01-01T00:00:00Z', null, RECEIVED)).toBe(Date.parse('0001-01-01T00:00:00Z'))
  })

  it('always is a time that can be written down with a year from 1 to 9999', () => {
    const times = fc.oneof(
      fc.date({
        min: new Date('0001-01-01T00:00:00Z'),
        max: new Date('9999-12-31T23:59:59Z'),
        noInvalidDate: true,
      }),
      fc.constantFrom(new Date('0001-01-01T00:00:00Z'), new Date('9999-12-31T23:59:59Z')),
    )
    fc.assert(
      fc.property(times, times, (claimed, sent) => {
        const time = correctedTime(claimed.toISOString(), sent.toISOString(), RECEIVED)
        expect(iso(time)).toMatch(/^\d{4}-/)
        expect(time).toBeGreaterThanOrEqual(Date.parse('0001-01-01T00:00:00Z'))
        expect(time).toBeLessThanOrEqual(RECEIVED + DAY_MS)
      }),
    )
  })
})

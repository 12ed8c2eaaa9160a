import { describe, expect, it } from 'vitest'
import { deadLetters, topics } from './topics.ts'

const DAY_MS = 24 * 60 * 60 * 1000

const letter = {
  v: 1,
  group: 'persistence',
  topic: 'events.enriched.v1',
  partition: 0,
  offset: '18446744073709551615',
  key: null,
  value: 'bm90IEpTT04=',
  headers: {},
  reason: 'is not JSON',
  failedAt: '2026-11-21T04:00:00.000Z',
}

describe('topics', () => {
  it('have unique names', () => {
    expect(new Set(topics.map(({ name }) => name)).size).toBe(topics.length)
  })

  it.each(topics)('$name deletes personal data after 7 days', ({ retentionMs }) => {
    expect(retentionMs).toBeLessThanOrEqual(7 * DAY_MS)
  })

  it('have space for a dead letter with the largest record', () => {
    const largest = Math.max(...topics.filter((topic) => topic !== deadLetters).map((t) => t.maxMessageBytes))
    expect(deadLetters.maxMessageBytes).toBeGreaterThan((largest * 4) / 3)
  })
})

describe('a dead letter', () => {
  it('may have an offset beyond what a JSON number holds', () => {
    expect(deadLetters.validator.check(letter)).toBeUndefined()
  })

  it.each([
    ['offset', '-1'],
    ['offset', 12],
    ['partition', -1],
    ['headers', { 'line\nbreak': 1 }],
    ['v', 2],
  ])('is refused with the %s %j', (field, value) => {
    expect(deadLetters.validator.fits({ ...letter, [field]: value })).toBe(false)
  })
})

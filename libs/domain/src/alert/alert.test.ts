import type { AlertCondition } from '@waymark/contracts/http/alerts'
import { describe, expect, it } from 'vitest'
import { createRandom } from '../experiment/create-random.ts'
import { type AlertReading, judgeAlert } from './judge.ts'
import { type AlertMessage, alertSubject, alertText, slackMessage } from './message.ts'
import { createSlotOf, type SeriesPoint, surpriseOf } from './unusual.ts'

const aReading = (fields: Partial<AlertReading>): AlertReading => ({
  interval: 'hour',
  value: 100,
  isCount: true,
  ...fields,
})

describe('an alert', () => {
  it.each([
    ['above', 100, 'ok'],
    ['above', 99.9, 'firing'],
    ['below', 100, 'ok'],
    ['below', 100.1, 'firing'],
  ] as const)('that fires %s a value is at %d: %s', (type, value, state) => {
    expect(judgeAlert({ type, value }, aReading({}), false)).toEqual({
      state,
      expected: null,
      deviation: null,
    })
  })

  it.each([
    ['up', 120, 100, 'firing'],
    ['up', 119, 100, 'ok'],
    ['up', 80, 100, 'ok'],
    ['down', 80, 100, 'firing'],
    ['down', 81, 100, 'ok'],
    ['down', 120, 100, 'ok'],
    ['either', 80, 100, 'firing'],
    ['either', 120, 100, 'firing'],
    ['either', -80, -100, 'firing'],
    ['either', 0, 0, 'ok'],
  ] as const)(
    'that fires at a change of 20 %% %s is, at %d after %d, %s',
    (direction, value, before, state) => {
      const condition: AlertCondition = { type: 'changedBy', value: 20, direction }
      expect(judgeAlert(condition, aReading({ value, before }), false)).toMatchObject({
        state,
        expected: before,
      })
    },
  )

  it('has no data without a value, and without a value before that a change could be a part of', () => {
    expect(judgeAlert({ type: 'below', value: 1 }, aReading({ value: null }), false).state).toBe('noData')
    const change: AlertCondition = { type: 'changedBy', value: 20 }
    for (const before of [0, null])
      expect(judgeAlert(change, aReading({ before }), false).state).toBe('noData')
  })
})

/** Hours of a shop, from a Sunday on: few at night, fewer at weekends. */
const expectedAt = (hour: number): number => {
  const [day, time] = [Math.floor(hour / 24) % 7, hour % 24]
  return (day === 0 || day === 6 ? 600 : 1_000) * (1.2 + Math.sin(((time - 9) / 24) * 2 * Math.PI))
}
const normal = (random: () => number): number =>
  Math.sqrt(-2 * Math.log(1 - random())) * Math.cos(2 * Math.PI * random())
const poisson = (mean: number, random: () => number): number => {
  // The normal approximation is good enough above.
  if (mean > 50) return Math.max(0, Math.round(mean + Math.sqrt(mean) * normal(random)))
  const limit = Math.exp(-mean)
  let count = 0
  for (let product = random(); product > limit; product *= random()) count++
  return count
}
const HOURS_KNOWN = 4 * 7 * 24
const DAYS_KNOWN = 12 * 7

/** The states of an alert that is evaluated for each of the values after the known ones. */
const statesOf = (
  values: readonly number[],
  interval: 'hour' | 'day',
  condition: AlertCondition,
): string[] => {
  const [known, season] = interval === 'hour' ? [HOURS_KNOWN, 7 * 24] : [DAYS_KNOWN, 7]
  const points: SeriesPoint[] = values.map((value, index) => ({ slot: index % season, value }))
  let isFiring = false
  return points.slice(known + 1).map(({ slot, value }, index) => {
    const before = points[known + index] as SeriesPoint
    const reading = aReading({
      interval,
      value,
      before: before.value,
      past: points.slice(index, known + index),
      slots: { now: slot, before: before.slot },
    })
    const { state } = judgeAlert(condition, reading, isFiring)
    isFiring = state === 'firing'
    return state
  })
}
const alarmsIn = (states: readonly string[]): number =>
  states.filter((state, index) => state === 'firing' && states[index - 1] !== 'firing').length

const unusual: AlertCondition = { type: 'unusual' }
const MONTHS = 3
const HOURS_OF_90_DAYS = 90 * 24
const noises = [
  ['tenth', (mean: number, random: () => number) => Math.max(0, mean * (1 + 0.1 * normal(random)))],
  ['Poisson', poisson],
  ['sparse', (mean: number, random: () => number) => poisson(mean / 2_000, random)],
] as const

describe('an alert on what is unusual', () => {
  it.each(noises)('has at most one false alarm a month in 90 days of noise (%s)', (_, noise) => {
    const random = createRandom(1)
    const values = Array.from({ length: HOURS_KNOWN + 1 + HOURS_OF_90_DAYS }, (_value, hour) =>
      noise(expectedAt(hour), random),
    )
    const states = statesOf(values, 'hour', unusual)
    expect(new Set(states.slice(0, 10))).toEqual(new Set(['ok']))
    expect(alarmsIn(states)).toBeLessThanOrEqual(MONTHS)
  })

  it.each([1, 2])('has at most one a month in 90 days of daily values', (seed) => {
    const random = createRandom(seed)
    const values = Array.from(
      { length: DAYS_KNOWN + 1 + 90 },
      (_, day) => expectedAt(day * 24 + 12) * (1 + 0.1 * normal(random)),
    )
    expect(alarmsIn(statesOf(values, 'day', unusual))).toBeLessThanOrEqual(MONTHS)
  })

  it.each(['hour', 'day'] as const)('finds a halving within two intervals, at any %s', (interval) => {
    const random = createRandom(7)
    const known = interval === 'hour' ? HOURS_KNOWN : DAYS_KNOWN
    const step = interval === 'hour' ? 1 : 24
    for (let start = 0; start < 60; start++) {
      const values = Array.from({ length: known + 4 }, (_, index) => {
        const mean = expectedAt((start + index) * step) * (1 + 0.1 * normal(random))
        return index >= known + 2 ? mean / 2 : mean
      })
      const [, ...halved] = statesOf(values, interval, unusual)
      expect(halved, `from ${interval} ${start} on`).toContain('firing')
    }
  })

  it('does not fire to the other side, and fires until values are usual again', () => {
    const random = createRandom(3)
    const values = Array.from({ length: HOURS_KNOWN + 30 }, (_, hour) => {
      const usual = poisson(expectedAt(hour), random)
      return hour >= HOURS_KNOWN + 10 && hour < HOURS_KNOWN + 20 ? Math.round(usual / 3) : usual
    })
    const expected = Array.from({ length: 29 }, (_, hour) => (hour >= 9 && hour < 19 ? 'firing' : 'ok'))
    expect(statesOf(values, 'hour', { type: 'unusual', direction: 'down' })).toEqual(expected)
    expect(statesOf(values, 'hour', { type: 'unusual', direction: 'up' })).not.toContain('firing')
  })

  it('is not moved by an earlier outage, which would hide the next one', () => {
    const random = createRandom(4)
    const past = Array.from({ length: HOURS_KNOWN }, (_, hour) => ({
      slot: hour % (7 * 24),
      value: hour >= 3 * 7 * 24 ? 0 : poisson(expectedAt(hour), random),
    }))
    const about = { interval: 'hour', isCount: true } as const
    expect(surpriseOf({ slot: 10, value: 0 }, past, about)?.score).toBeLessThan(-5)
    const usual = surpriseOf({ slot: 10, value: Math.round(expectedAt(10)) }, past, about)
    expect(Math.abs(usual?.score ?? 5)).toBeLessThan(2)
  })

  it('has no data until there are three values of the same hour and weekday', () => {
    const week = 7 * 24
    const past = Array.from({ length: HOURS_KNOWN }, (_, hour) => ({
      slot: hour % week,
      value: hour < week ? 0 : 1_000,
    }))
    const about = { interval: 'hour', isCount: true } as const
    expect(surpriseOf({ slot: 5, value: 1_000 }, past, about)).toEqual({ expected: 1_000, score: 0 })
    expect(surpriseOf({ slot: 5, value: 1_000 }, past.slice(week * 2), about)).toBeUndefined()
    // Zeros before the first event are no values.
    const later = past.map((point, hour) => (hour < week * 2 ? { ...point, value: 0 } : point))
    expect(surpriseOf({ slot: 5, value: 1_000 }, later, about)).toBeUndefined()
  })

  it('compares what is no count with at least a hundredth of it', () => {
    const past = Array.from({ length: DAYS_KNOWN }, (_, day) => ({ slot: day % 7, value: 0.5 }))
    const about = { interval: 'day', isCount: false } as const
    expect(surpriseOf({ slot: 1, value: 0.49 }, past, about)?.score).toBeCloseTo(-2)
    expect(surpriseOf({ slot: 1, value: 0.25 }, past, about)?.score).toBeCloseTo(-50)
  })

  it('compares hours and days by local time, also where the clock changes', () => {
    const hour = createSlotOf('hour', 'Europe/Berlin')
    expect(hour(Date.parse('2026-10-24T08:00:00Z'))).toBe(6 * 24 + 10)
    expect(hour(Date.parse('2026-10-31T09:00:00Z'))).toBe(6 * 24 + 10)
    expect(hour(Date.parse('2026-10-24T22:00:00Z'))).toBe(0)
    expect(createSlotOf('day', 'Europe/Berlin')(Date.parse('2026-10-24T22:00:00Z'))).toBe(0)
  })
})

const aMessage = (fields: Partial<AlertMessage> = {}): AlertMessage => ({
  alertId: 'a1',
  name: 'Orders <script> & co',
  project: 'Shop',
  change: 'fired',
  condition: { type: 'below', value: 1_000 },
  interval: 'hour',
  bucket: '2026-11-28T04:00:00.000Z',
  value: 420,
  expected: null,
  deviation: null,
  address: 'https://waymark.example/console/p/p1/alerts/a1',
  ...fields,
})

describe('a message about an alert', () => {
  it('says what was found, and what the alert is about', () => {
    expect(alertSubject(aMessage())).toBe('Alert: Orders <script> & co (Shop)')
    expect(alertText(aMessage())).toBe(
      'The hour from 2026-11-28T04:00:00.000Z had 420. The alert fires when it is below 1,000.',
    )
    const changed = aMessage({
      condition: { type: 'changedBy', value: 20, direction: 'down' },
      expected: 840,
      deviation: -50,
    })
    expect(alertText(changed)).toContain(
      'had 420, after 840 before: -50.0 %. The alert fires when it is a change down by at least 20 %.',
    )
    const surprising = aMessage({ condition: { type: 'unusual' }, expected: 840, deviation: -6.04 })
    expect(alertText(surprising)).toContain('had 420; about 840 was expected (-6.0 standard deviations).')
  })

  it('says when it is over', () => {
    const over = aMessage({ change: 'resolved', value: 1_234.5 })
    expect(alertSubject(over)).toBe('Resolved: Orders <script> & co (Shop)')
    expect(alertText(over)).toContain('had 1,234.5. It is no longer below 1,000.')
  })

  it('for Slack cannot contain markup of a name, and links to the alert', () => {
    const { text } = slackMessage(aMessage())
    expect(text).toContain('*Orders &lt;script&gt; &amp; co* (Shop)')
    expect(text).toContain('<https://waymark.example/console/p/p1/alerts/a1|Open the alert>')
  })
})

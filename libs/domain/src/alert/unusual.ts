import type { AlertInterval } from '@waymark/contracts/http/alerts'

/** The value of an interval. `slot` says which values it is compared with: those of the same hour and weekday. */
export type SeriesPoint = { slot: number; value: number }

/** How a value differs from those of its slot. */
export type Surprise = {
  /** The median of its slot. */
  expected: number
  /** The difference from it in robust standard deviations. */
  score: number
}

/** Earlier values of the same slot that a value needs to be compared with. */
export const MIN_SLOT_VALUES = 3

/** Makes the median absolute deviation an estimate of the standard deviation of normal noise. */
const PER_MAD = 1.4826
/** The same for the mean absolute deviation. */
const PER_MEAN_DEVIATION = 1.2533
const ANSCOMBE = 3 / 8
/** The least standard deviation, relative to what is expected, of values that are no counts. */
const LEAST_RELATIVE_DEVIATION = 0.01

const HOURS = 24
const WEEKDAYS: Readonly<Record<string, number>> = { Sun: 0, Mon: 1, Tue: 2, Wed: 3, Thu: 4, Fri: 5, Sat: 6 }

/**
 * Which values an interval is compared with: the weekday from 0 on (Sunday), and for hours 24 of them for each weekday.
 * Local times are used, so that a change of the clock does not move the pattern of a day.
 * @param at the beginning of the interval in ms since the epoch
 */
export const createSlotOf = (interval: AlertInterval, timeZone: string): ((at: number) => number) => {
  const format = new Intl.DateTimeFormat('en-US', {
    timeZone,
    weekday: 'short',
    hour: 'numeric',
    hourCycle: 'h23',
  })
  return (at) => {
    const parts = Object.fromEntries(format.formatToParts(at).map(({ type, value }) => [type, value]))
    const weekday = WEEKDAYS[parts.weekday ?? ''] ?? 0
    return interval === 'day' ? weekday : weekday * HOURS + Number(parts.hour)
  }
}

/**
 * How unlikely a value is by its own past: a robust z-score after B. Iglewicz and D. Hoaglin, "How to Detect and Handle
 * Outliers" (ASQC, 1993). The past of the same hour and weekday gives what is expected, by its median. The differences of
 * the past values from the medians of the others, relative to these, give the deviation, by their median absolute
 * deviation: those of the same time of day for hours, all of them for days. Medians are not moved by earlier outliers.
 *
 * A count is no greater surprise than if it were a Poisson variable, by the transformation of F. Anscombe, "The
 * Transformation of Poisson, Binomial and Negative-Binomial Data" (Biometrika, 1948), so that a few events are none. Zeros
 * before the first other value do not count, because nothing was measured yet. Undefined with fewer than `MIN_SLOT_VALUES`
 * values in the slot, and without any deviation.
 */
export const surpriseOf = (
  point: SeriesPoint,
  past: readonly SeriesPoint[],
  { interval, isCount }: { interval: AlertInterval; isCount: boolean },
): Surprise | undefined => {
  const begins = past.findIndex(({ value }) => value !== 0)
  const known = begins < 0 ? [] : past.slice(begins)
  const slots = Map.groupBy(known, ({ slot }) => slot)
  const same = slots.get(point.slot) ?? []
  if (same.length < MIN_SLOT_VALUES) return undefined
  const expected = medianOf(same.map(({ value }) => value))
  const near = [...slots].filter(([slot]) => interval === 'day' || isNearHour(slot, point.slot))
  const differences = near.flatMap(([, values]) =>
    differencesIn(
      values.map(({ value }) => value),
      expected,
    ),
  )
  const spread = spreadOf(differences)
  if (isCount) {
    const ofPoisson = 2 * (Math.sqrt(point.value + ANSCOMBE) - Math.sqrt(expected + ANSCOMBE))
    const ofPast = spread === 0 ? Number.POSITIVE_INFINITY : Math.abs(point.value - expected) / spread
    return { expected, score: Math.sign(ofPoisson) * Math.min(Math.abs(ofPoisson), ofPast) }
  }
  const deviation = Math.max(spread, Math.abs(expected) * LEAST_RELATIVE_DEVIATION)
  return deviation === 0 ? undefined : { expected, score: (point.value - expected) / deviation }
}

/** Whether two hours of a week are at most an hour apart on the clock, on any days. */
const isNearHour = (a: number, b: number): boolean => {
  const apart = Math.abs((a % HOURS) - (b % HOURS))
  return apart <= 1 || apart === HOURS - 1
}

/**
 * Each value less the median of the others, as it would be compared if it were the newest. In proportion to `level`, because
 * more varies by more.
 */
const differencesIn = (values: readonly number[], level: number): number[] =>
  values.length < MIN_SLOT_VALUES
    ? []
    : values.map((value, index) => {
        const median = medianOf(values.filter((_, other) => other !== index))
        return (value - median) * (median === 0 ? 1 : level / median)
      })

const spreadOf = (differences: readonly number[]): number => {
  const sizes = differences.map(Math.abs)
  const median = medianOf(sizes)
  if (median > 0) return PER_MAD * median
  // More than half of them are 0.
  const sum = sizes.reduce((total, size) => total + size, 0)
  return sum === 0 ? 0 : (PER_MEAN_DEVIATION * sum) / sizes.length
}

const medianOf = (values: readonly number[]): number => {
  const sorted = values.toSorted((a, b) => a - b)
  const middle = sorted.length >> 1
  const upper = sorted[middle] ?? 0
  return sorted.length % 2 === 1 ? upper : (upper + (sorted[middle - 1] ?? upper)) / 2
}

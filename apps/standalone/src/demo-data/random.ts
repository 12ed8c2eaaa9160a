/** Pseudorandom numbers. The same seed gives the same numbers, so that an interrupted start can continue. */
export type Random = {
  /** From `min` up to, but not including, `max`. */
  between: (min: number, max: number) => number
  /** An integer from `min` to `max`. */
  whole: (min: number, max: number) => number
  chance: (probability: number) => boolean
  pick: <T>(values: readonly [T, ...T[]]) => T
}

/** Mulberry32. */
export const createRandom = (seed: number): Random => {
  let state = seed >>> 0
  const next = (): number => {
    state = (state + 0x6d2b79f5) >>> 0
    let mixed = Math.imul(state ^ (state >>> 15), state | 1)
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61)
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32
  }
  const between: Random['between'] = (min, max) => min + next() * (max - min)
  const whole: Random['whole'] = (min, max) => Math.floor(between(min, max + 1))
  return {
    between,
    whole,
    chance: (probability) => next() < probability,
    pick: (values) => values[whole(0, values.length - 1)] ?? values[0],
  }
}

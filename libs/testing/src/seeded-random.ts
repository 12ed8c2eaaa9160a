import { randomInt } from 'node:crypto'
import { onTestFailed } from 'vitest'

/** Random input of one test. */
export type SeededRandom = {
  /** A whole number from 0 to `count` - 1. */
  below(count: number): number
  /** The items in random order, as a new list. */
  shuffled<T>(items: readonly T[]): T[]
}

/**
 * Random input that the environment variable TEST_SEED repeats. A failed test prints the seed. Call it in the test that
 * uses it.
 */
export const seededRandom = (seed = Number(process.env.TEST_SEED ?? randomInt(2 ** 32))): SeededRandom => {
  onTestFailed(() => void process.stdout.write(`Repeat the random input with TEST_SEED=${seed}\n`))
  let state = seed
  // Mulberry32.
  const next = (): number => {
    state = (state + 0x6d2b79f5) | 0
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state)
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32
  }
  const below = (count: number): number => Math.floor(next() * count)
  const shuffled = <T>(items: readonly T[]): T[] =>
    items
      .map((item) => ({ item, order: next() }))
      .sort((one, other) => one.order - other.order)
      .map(({ item }) => item)
  return { below, shuffled }
}

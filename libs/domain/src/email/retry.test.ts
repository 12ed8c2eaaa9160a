import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { DEFAULT_RETRY_PLAN, nextAttemptIn } from './retry.ts'

const plan = { firstMs: 1_000, longestMs: 10_000, giveUpAfterMs: 60_000 }

describe('nextAttemptIn', () => {
  it('doubles up to the longest delay', () => {
    const pauses = [1, 2, 3, 4, 5, 6].map((attempts) => nextAttemptIn(plan, attempts, 0, 0))
    expect(pauses).toEqual([1_000, 2_000, 4_000, 8_000, 10_000, 10_000])
    expect(nextAttemptIn(plan, 2, 0, 1)).toBe(1_000)
  })

  it('gives up when the next attempt would come too late', () => {
    expect(nextAttemptIn(plan, 1, 59_000, 0)).toBe(1_000)
    expect(nextAttemptIn(plan, 1, 59_001, 0)).toBeUndefined()
  })

  it('continues for a day, and then ends', () => {
    fc.assert(
      fc.property(
        fc.array(fc.double({ min: 0, max: 1, noNaN: true }), { minLength: 200, maxLength: 200 }),
        (chances) => {
          let age = 0
          let attempts = 1
          for (const chance of chances) {
            const pause = nextAttemptIn(DEFAULT_RETRY_PLAN, attempts, age, chance)
            if (pause === undefined) break
            age += pause
            attempts += 1
          }
          expect(attempts).toBeGreaterThan(40)
          expect(attempts).toBeLessThan(200)
          expect(age).toBeGreaterThan(DEFAULT_RETRY_PLAN.giveUpAfterMs - DEFAULT_RETRY_PLAN.longestMs)
          expect(age).toBeLessThanOrEqual(DEFAULT_RETRY_PLAN.giveUpAfterMs)
        },
      ),
    )
  })
})

import { createMemoryRateLimiter, type RateLimiter } from '@waymark/cache'
import type { ApiKey } from '@waymark/project-config'
import { describe, expect, it } from 'vitest'
import { createMissLimit } from './miss-limit.ts'

const apiKey = { id: 'k', projectId: 'p', requestsPerMinute: null } as ApiKey
const ip = '198.51.100.7'

/** Look-ups that end when the test says so, and how many began. */
const setUp = (perMinute: number) => {
  const limiter = createMemoryRateLimiter()
  const state = { evaluated: 0, claims: 0 }
  const counting: RateLimiter = {
    ...limiter,
    consume: (use) => {
      state.claims++
      return limiter.consume(use)
    },
  }
  const limit = createMissLimit(counting, { perMinute, setting: 'LIMIT' })
  const lookUp = (misses: number, codes = 1) =>
    limit
      .lookUp({ apiKey, ip, codes }, async () => {
        state.evaluated += codes
        await new Promise((resolve) => setImmediate(resolve))
        return { found: 'answered', misses }
      })
      .catch((error: { code?: string }) => error.code)
  return { limit, state, lookUp }
}
const count = (outcomes: readonly unknown[], of: string) => outcomes.filter((one) => one === of).length

describe('the limit of misses', () => {
  it('evaluates exactly as many codes of a burst as are allowed', async () => {
    const { state, lookUp } = setUp(30)
    const outcomes = await Promise.all(Array.from({ length: 1_950 }, () => lookUp(1)))
    expect(state.evaluated).toBe(30)
    expect(count(outcomes, 'rate_limited')).toBe(1_920)
    expect(state.claims).toBeLessThan(3 * 1_950)
  })

  it('refuses no hit of a burst, because hits do not count', async () => {
    const { lookUp } = setUp(30)
    const outcomes = await Promise.all(Array.from({ length: 300 }, () => lookUp(0)))
    expect(count(outcomes, 'answered')).toBe(300)
  })

  it('counts every code of a cart before it is evaluated', async () => {
    const { state, lookUp } = setUp(30)
    const outcomes = await Promise.all(Array.from({ length: 50 }, () => lookUp(4, 4)))
    expect(state.evaluated).toBe(28)
    expect(count(outcomes, 'answered')).toBe(7)
    expect(await lookUp(1)).toBe('answered')
  })

  it('claims the codes of a cart together', async () => {
    const { state, lookUp } = setUp(30)
    expect(await lookUp(20, 20)).toBe('answered')
    expect(state.claims).toBe(1)
    expect(await lookUp(11, 11)).toBe('rate_limited')
    expect(await lookUp(10, 10)).toBe('answered')
  })

  it('gives back what a failed look-up claimed', async () => {
    const { limit, lookUp } = setUp(1)
    const failing = limit.lookUp({ apiKey, ip, codes: 1 }, () => Promise.reject(new Error('store away')))
    await expect(failing).rejects.toThrow('store away')
    expect(await lookUp(1)).toBe('answered')
    expect(await lookUp(1)).toBe('rate_limited')
  })
})

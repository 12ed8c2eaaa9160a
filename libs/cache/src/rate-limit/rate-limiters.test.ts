import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'
import type { SharedCounter } from './port.ts'
import { createLocallyCountingRateLimiter } from './rate-limiters.ts'

/** A counter that records its calls; `others` is what other processes have used of every key. */
const aCounter = ({ others = 0 } = {}) => {
  const reported: { name: string; uses: number; windowMs: number }[] = []
  const state = { ready: true, fails: false }
  const counter: SharedCounter = {
    isReady: () => state.ready,
    add: async (name, uses, windowMs) => {
      reported.push({ name, uses, windowMs })
      if (state.fails) return undefined
      const sum = reported.filter((each) => each.name === name).reduce((total, each) => total + each.uses, 0)
      return { used: others + sum, resetMs: 30_000 }
    },
    close: async () => {},
  }
  return { counter, reported, state }
}

const use = { bucket: 'b', key: 'k', limit: 10, windowMs: 60_000 }

beforeEach(() => void vi.useFakeTimers())
afterEach(() => void vi.useRealTimers())

describe('the locally counting limiter', () => {
  it('shares all uses of 200 ms at once, each key once', async () => {
    const { counter, reported } = aCounter()
    const limiter = createLocallyCountingRateLimiter(counter)
    for (let n = 0; n < 3; n++) await limiter.consume(use)
    await limiter.consume({ ...use, key: 'other' })
    await vi.advanceTimersByTimeAsync(199)
    expect(reported).toEqual([])
    await vi.advanceTimersByTimeAsync(1)
    expect(reported).toEqual([
      { name: 'b:k', uses: 3, windowMs: 60_000 },
      { name: 'b:other', uses: 1, windowMs: 60_000 },
    ])
  })

  it('has no timer while idle', async () => {
    const { counter } = aCounter()
    const limiter = createLocallyCountingRateLimiter(counter)
    expect(vi.getTimerCount()).toBe(0)
    await limiter.consume(use)
    expect(vi.getTimerCount()).toBe(1)
    await vi.advanceTimersByTimeAsync(200)
    expect(vi.getTimerCount()).toBe(0)
  })

  it('adopts the shared count and the end of the window', async () => {
    const { counter } = aCounter({ others: 8 })
    const limiter = createLocallyCountingRateLimiter(counter)
    expect(await limiter.consume(use)).toEqual({ allowed: true, limit: 10, remaining: 9, resetMs: 60_000 })
    await vi.advanceTimersByTimeAsync(200)
    expect(await limiter.consume(use)).toEqual({ allowed: true, limit: 10, remaining: 0, resetMs: 30_000 })
    expect(await limiter.consume(use)).toMatchObject({ allowed: false })
    await vi.advanceTimersByTimeAsync(200 + 30_000)
    expect(await limiter.consume(use)).toMatchObject({ allowed: true, remaining: 9 })
  })

  it('keeps counting while the counter is unavailable, and shares later', async () => {
    const { counter, reported, state } = aCounter()
    state.ready = false
    const limiter = createLocallyCountingRateLimiter(counter)
    await limiter.consume(use)
    await vi.advanceTimersByTimeAsync(1_000)
    await limiter.consume(use)
    state.ready = true
    await vi.advanceTimersByTimeAsync(200)
    expect(reported).toEqual([{ name: 'b:k', uses: 2, windowMs: 60_000 }])
  })

  it('does not repeat what the counter may have counted without responding', async () => {
    const { counter, reported, state } = aCounter()
    state.fails = true
    const limiter = createLocallyCountingRateLimiter(counter)
    for (let n = 0; n < 3; n++) {
      expect(await limiter.consume(use)).toMatchObject({ allowed: true, remaining: 9 - n })
      await vi.advanceTimersByTimeAsync(200)
    }
    expect(reported.map(({ uses }) => uses)).toEqual([1, 1, 1])
  })

  it('does not share expired windows', async () => {
    const { counter, reported, state } = aCounter()
    state.ready = false
    const limiter = createLocallyCountingRateLimiter(counter, { shareEveryMs: 2_000 })
    await limiter.consume({ ...use, windowMs: 1_000 })
    state.ready = true
    await vi.advanceTimersByTimeAsync(2_000)
    expect(reported).toEqual([])
  })

  it('shares at most 2,000 keys at once, and the rest on their next use', async () => {
    const { counter, reported } = aCounter()
    const limiter = createLocallyCountingRateLimiter(counter)
    const useAll = () =>
      Promise.all(Array.from({ length: 2_001 }, (_, key) => limiter.consume({ ...use, key: `${key}` })))
    await useAll()
    await vi.advanceTimersByTimeAsync(200)
    expect(reported).toHaveLength(2_000)
    await limiter.consume({ ...use, key: '2000' })
    await vi.advanceTimersByTimeAsync(200)
    expect(reported.at(-1)).toMatchObject({ name: 'b:2000', uses: 2 })
  })

  it('evicts the least recently used keys', async () => {
    const { counter } = aCounter()
    const limiter = createLocallyCountingRateLimiter(counter, { maxKeys: 2 })
    for (const key of ['a', 'b', 'c', 'b']) await limiter.consume({ ...use, key })
    expect(await limiter.consume({ ...use, key: 'b' })).toMatchObject({ remaining: 7 })
    expect(await limiter.consume({ ...use, key: 'a' })).toMatchObject({ remaining: 9 })
  })

  it('shares the rest when closed, after running requests', async () => {
    const { counter, reported } = aCounter()
    const limiter = createLocallyCountingRateLimiter(counter)
    await limiter.consume(use)
    await limiter.close()
    expect(reported).toHaveLength(1)
    expect(vi.getTimerCount()).toBe(0)
  })
})

import { randomUUID } from 'node:crypto'
import { eventually } from '@waymark/testing'
import { afterAll, beforeAll, expect, it } from 'vitest'
import type { RateLimiter } from '../src/rate-limit/port.ts'

const MINUTE = 60_000

/** The behaviour of every limiter within one process. `open` resolves when it is ready to count. */
export const describeRateLimiter = (open: () => Promise<RateLimiter>): void => {
  let limiter: RateLimiter
  beforeAll(async () => {
    limiter = await open()
  })
  afterAll(() => limiter.close())

  const aUse = (limit: number, windowMs = MINUTE) => ({ bucket: 'test', key: randomUUID(), limit, windowMs })
  const allowedOf = (results: { allowed: boolean }[]) => results.filter(({ allowed }) => allowed).length

  it('allows the limit and refuses one more', async () => {
    const use = aUse(3)
    for (const remaining of [2, 1, 0]) {
      expect(await limiter.consume(use)).toMatchObject({ allowed: true, limit: 3, remaining })
    }
    for (let more = 0; more < 2; more++) {
      expect(await limiter.consume(use)).toMatchObject({ allowed: false, limit: 3, remaining: 0 })
    }
  })

  it('allows the limit under concurrency', async () => {
    const use = aUse(50)
    const results = await Promise.all(Array.from({ length: 200 }, () => limiter.consume(use)))
    expect(allowedOf(results)).toBe(50)
  })

  it('returns the end of the window', async () => {
    const use = aUse(1)
    for (const { resetMs } of [await limiter.consume(use), await limiter.consume(use)]) {
      expect(resetMs).toBeGreaterThan(MINUTE - 10_000)
      expect(resetMs).toBeLessThanOrEqual(MINUTE)
    }
  })

  it('allows again after the window', async () => {
    // Repeated when the machine stops for longer than a window between the two.
    const use = await eventually('a window is used up', async () => {
      const brief = aUse(1, 3_000)
      const [first, second] = [await limiter.consume(brief), await limiter.consume(brief)]
      return first.allowed && !second.allowed && brief
    })
    await eventually('it is allowed again', async () => (await limiter.consume(use)).allowed)
  })

  it('does not count a use that is given back', async () => {
    const use = aUse(1)
    expect((await limiter.consume(use)).allowed).toBe(true)
    expect((await limiter.consume(use)).allowed).toBe(false)
    await limiter.giveBack(use)
    expect(await limiter.consume(use)).toMatchObject({ allowed: true, remaining: 0 })
    expect((await limiter.consume(use)).allowed).toBe(false)
  })

  it('counts several uses at once, all or none', async () => {
    const use = aUse(5)
    expect(await limiter.consume({ ...use, uses: 3 })).toMatchObject({ allowed: true, remaining: 2 })
    expect(await limiter.consume({ ...use, uses: 3 })).toMatchObject({ allowed: false, remaining: 2 })
    expect(await limiter.consume({ ...use, uses: 2 })).toMatchObject({ allowed: true, remaining: 0 })
    await limiter.giveBack({ ...use, uses: 4 })
    expect(await limiter.consume({ ...use, uses: 4 })).toMatchObject({ allowed: true, remaining: 0 })
  })

  it('counts each key and each bucket separately', async () => {
    const use = aUse(1)
    expect((await limiter.consume(use)).allowed).toBe(true)
    expect((await limiter.consume({ ...use, key: `${use.key}x` })).allowed).toBe(true)
    expect((await limiter.consume({ ...use, bucket: 'other' })).allowed).toBe(true)
    expect((await limiter.consume(use)).allowed).toBe(false)
  })

  it('applies a changed limit, without counting refused uses', async () => {
    const use = aUse(2)
    await limiter.consume(use)
    await limiter.consume(use)
    for (let refused = 0; refused < 5; refused++) await limiter.consume(use)
    expect(await limiter.consume({ ...use, limit: 3 })).toMatchObject({ allowed: true, remaining: 0 })
    expect((await limiter.consume({ ...use, limit: 1 })).allowed).toBe(false)
  })

  it('allows nothing when the limit is 0', async () => {
    expect(await limiter.consume(aUse(0))).toMatchObject({ allowed: false, limit: 0, remaining: 0 })
  })

  it.each([
    ['empty', ''],
    ['an address', '::1'],
    ['odd characters', 'ä \u0000\r\n*{}'],
    ['long', 'x'.repeat(10_000)],
  ])('accepts any key: %s', async (_what, text) => {
    const use = { ...aUse(1), key: `${text}${randomUUID()}` }
    expect((await limiter.consume(use)).allowed).toBe(true)
    expect((await limiter.consume(use)).allowed).toBe(false)
  })
}

import { randomBytes, randomUUID } from 'node:crypto'
import {
  CLOSED_PORT,
  createMemoryLog,
  eventually,
  pauseServer,
  requireServices,
  services,
  startRedis,
} from '@waymark/testing'
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from 'vitest'
import type { RateLimiter, SharedCounter } from '../src/rate-limit/port.ts'
import {
  createLocallyCountingRateLimiter,
  createMemoryRateLimiter,
  createSharedRateLimiter,
} from '../src/rate-limit/rate-limiters.ts'
import { openRedisCounter } from '../src/rate-limit/redis-counter.ts'
import { describeRateLimiter } from './rate-limiter-contract.ts'

/** For tests of counts that must be shared: a busy machine stops for longer than the default timeout. */
const PATIENCE_MS = 10_000
const keyPrefix = `t${randomBytes(6).toString('hex')}:`
const aUse = (limit: number) => ({ bucket: 'test', key: randomUUID(), limit, windowMs: 60_000 })

/** A limiter with a connection of its own, as in a process of its own, once Redis answers. */
const open = async (
  create: (counter: SharedCounter) => RateLimiter,
  redis: { url: string; commandTimeoutMs?: number } = {
    url: requireServices().redisUrl,
    commandTimeoutMs: PATIENCE_MS,
  },
): Promise<RateLimiter> => {
  const counter = openRedisCounter({ ...redis, keyPrefix }, createMemoryLog())
  await eventually('Redis answers', () => counter.isReady())
  const limiter = create(counter)
  return {
    consume: limiter.consume,
    giveBack: limiter.giveBack,
    close: async () => {
      await limiter.close()
      await counter.close()
    },
  }
}

const openTwo = async (create: (counter: SharedCounter) => RateLimiter) => {
  const pair = [await open(create), await open(create)] as const
  onTestFinished(async () => void (await Promise.all(pair.map((limiter) => limiter.close()))))
  return pair
}

const allowedOf = async (uses: Promise<{ allowed: boolean }>[]): Promise<number> =>
  (await Promise.all(uses)).filter(({ allowed }) => allowed).length

const times = <T>(count: number, make: (index: number) => T): T[] =>
  Array.from({ length: count }, (_, index) => make(index))

describe('the limiter in memory', () => describeRateLimiter(async () => createMemoryRateLimiter()))

describe.skipIf(!services)('the limiter in Redis', () => {
  describeRateLimiter(() => open(createSharedRateLimiter))

  it('enforces one limit across processes exactly', async () => {
    const pair = await openTwo(createSharedRateLimiter)
    const use = aUse(50)
    expect(await allowedOf(times(200, (n) => pair[n % 2 === 0 ? 0 : 1].consume(use)))).toBe(50)
    for (const limiter of pair) expect((await limiter.consume(use)).allowed).toBe(false)
  })

  it('does not count what is refused because of the uses of another process', async () => {
    const [one, other] = await openTwo(createSharedRateLimiter)
    const use = aUse(5)
    expect((await one.consume({ ...use, uses: 3 })).allowed).toBe(true)
    expect((await other.consume({ ...use, uses: 3 })).allowed).toBe(false)
    expect((await other.consume({ ...use, uses: 2 })).allowed).toBe(true)
    expect((await one.consume(use)).allowed).toBe(false)
  })

  it('returns to one process what the other used, and the end of the window', async () => {
    const [one, other] = await openTwo(createSharedRateLimiter)
    const use = aUse(3)
    expect(await one.consume(use)).toMatchObject({ allowed: true, remaining: 2 })
    expect(await other.consume(use)).toMatchObject({ allowed: true, remaining: 1 })
    const last = await one.consume(use)
    expect(last).toMatchObject({ allowed: true, remaining: 0 })
    expect((await other.consume(use)).resetMs).toBeLessThanOrEqual(last.resetMs + 10)
  })
})

describe.skipIf(!services)('the locally counting limiter on Redis', () => {
  describeRateLimiter(() => open(createLocallyCountingRateLimiter))

  it('receives the counts of other processes', async () => {
    const [one, other] = await openTwo(createLocallyCountingRateLimiter)
    const use = aUse(500)
    expect(await allowedOf(times(500, () => one.consume(use)))).toBe(500)
    let allowed = 0
    await eventually('the other refuses too', async () => {
      const result = await other.consume(use)
      if (result.allowed) allowed += 1
      return !result.allowed
    })
    // One every 20 ms until the counts are shared, after 200 ms. Alone, it would refuse after ten seconds.
    expect(allowed).toBeLessThan(500)
  })

  it('allows at most the limit in each process during a burst', async () => {
    const pair = await openTwo(createLocallyCountingRateLimiter)
    const use = aUse(20)
    const allowed = await allowedOf(times(200, (n) => pair[n % 2 === 0 ? 0 : 1].consume(use)))
    expect(allowed).toBeGreaterThanOrEqual(20)
    expect(allowed).toBeLessThanOrEqual(40)
    for (const limiter of pair) expect((await limiter.consume(use)).allowed).toBe(false)
  })

  it('shares the remaining counts when closed', async () => {
    const use = aUse(10)
    const leaving = await open((counter) =>
      createLocallyCountingRateLimiter(counter, { shareEveryMs: 60_000 }),
    )
    for (let n = 0; n < 7; n++) await leaving.consume(use)
    await leaving.close()
    const staying = await open(createSharedRateLimiter)
    expect(await staying.consume(use)).toMatchObject({ allowed: true, remaining: 2 })
    await staying.close()
  })
})

const limiters = [
  ['the limiter in Redis', createSharedRateLimiter],
  ['the locally counting limiter', createLocallyCountingRateLimiter],
] as const

describe.each(limiters)('%s without Redis', (_name, create) => {
  it('counts locally from the first use, and logs once', async () => {
    const log = createMemoryLog()
    const counter = openRedisCounter({ url: `redis://localhost:${CLOSED_PORT}` }, log)
    const limiter = create(counter)
    const use = aUse(30)
    expect(await allowedOf(times(100, () => limiter.consume(use)))).toBe(30)
    await eventually('it logs', () => log.lines.length > 0)
    await limiter.close()
    await counter.close()
    expect(log.lines).toHaveLength(1)
  })
})

describe.skipIf(!services)('while Redis fails', () => {
  let redis: Awaited<ReturnType<typeof startRedis>>
  beforeAll(async () => {
    redis = await startRedis()
  })
  afterAll(() => redis.container.stop({ timeout: 0 }))

  it.each(limiters)(
    'hanging: %s counts locally after its timeout, and shares again afterwards',
    async (_name, create) => {
      const pair = [await open(create, redis), await open(create, redis)] as const
      onTestFinished(async () => {
        await Promise.all(pair.map((limiter) => limiter.close()))
      })
      const use = aUse(10)
      await pair[0].consume(use)
      const goOn = await pauseServer(redis.container)
      try {
        for (let n = 0; n < 5; n++)
          expect(await pair[0].consume(use)).toMatchObject({ allowed: true, remaining: 8 - n })
      } finally {
        await goOn()
      }
      const shared = aUse(10_000)
      let looks = 0
      await eventually('uses are shared again', async () => {
        await pair[0].consume(shared)
        const { limit, remaining } = await pair[1].consume(shared)
        const byItself = looks++
        return limit - remaining > byItself + 1
      })
    },
  )

  it('unavailable: each process continues from its known counts', async () => {
    const opened = await Promise.all(limiters.map(([, create]) => open(create, redis)))
    const use = aUse(10)
    const [shared] = opened
    for (let n = 0; n < 4; n++) await shared?.consume(use)
    await redis.container.stop({ timeout: 0 })
    for (const limiter of opened) {
      const allowed = await allowedOf(times(50, () => limiter.consume(use)))
      expect(allowed).toBe(limiter === shared ? 6 : 10)
    }
    await Promise.all(opened.map((limiter) => limiter.close()))
  })
})

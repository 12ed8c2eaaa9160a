import type { RateLimitedUse, RateLimiter } from '@waymark/cache'
import type { ApiKey } from '@waymark/project-config'
import { type Limit, limitedClient, tooManyRequests } from '@waymark/service-kit'

/** Limits look-ups of codes that do not exist. */
export type MissLimit = {
  /**
   * Runs a look-up of `codes` codes. Each counts as a miss from before the look-up until it was found, so that a burst
   * evaluates no more codes than are allowed. A client whose other look-ups may still free a use waits for them.
   * @throws AppError rate_limited beyond the limit, and what the look-up throws, which then counts nothing
   */
  lookUp<T>(
    client: { apiKey: ApiKey; ip: string; codes: number },
    find: () => Promise<{ found: T; misses: number }>,
  ): Promise<T>
}

const WINDOW_MS = 60_000

/** Look-ups of a client in this process, and those that wait for one of them to end. */
type Client = { inFlight: number; waiting: (() => void)[] }

/** Counts misses across processes. */
export const createMissLimit = (limiter: RateLimiter, limit: Limit): MissLimit => {
  const clients = new Map<string, Client>()

  const giveBack = async (use: RateLimitedUse, count: number): Promise<void> => {
    for (let n = 0; n < count; n++) await limiter.giveBack(use)
  }

  /** Claims all uses or none. Resolves to the ms until the window ends when there are too few. */
  const claim = async (use: RateLimitedUse, count: number): Promise<number | undefined> => {
    for (let claimed = 0; claimed < count; claimed++) {
      const { allowed, resetMs } = await limiter.consume(use)
      if (allowed) continue
      await giveBack(use, claimed)
      return Math.max(1, resetMs)
    }
    return undefined
  }

  const end = (key: string, client: Client, hits: number): void => {
    client.inFlight--
    const next = client.inFlight === 0 ? client.waiting.splice(0) : client.waiting.splice(0, hits)
    for (const wake of next) wake()
    if (client.inFlight === 0 && client.waiting.length === 0) clients.delete(key)
  }

  return {
    lookUp: async ({ apiKey, ip, codes }, find) => {
      const limited = limitedClient(apiKey, ip, limit, true)
      const { key, perMinute } = limited
      const use = { bucket: 'coupon-misses', key, limit: perMinute, windowMs: WINDOW_MS }
      const claims = Math.min(codes, perMinute)
      let client: Client
      for (;;) {
        client = clients.get(key) ?? { inFlight: 0, waiting: [] }
        clients.set(key, client)
        client.inFlight++
        const waitMs = await claim(use, claims)
        if (waitMs === undefined) break
        client.inFlight--
        if (client.inFlight === 0) {
          for (const wake of client.waiting.splice(0)) wake()
          clients.delete(key)
          throw tooManyRequests(limited, 'look-ups of codes that do not exist', Math.ceil(waitMs / 1000))
        }
        await new Promise<void>((resolve) => client.waiting.push(resolve))
      }
      let hits = claims
      try {
        const { found, misses } = await find()
        hits = Math.max(0, claims - misses)
        return found
      } finally {
        await giveBack(use, hits)
        end(key, client, hits)
      }
    },
  }
}

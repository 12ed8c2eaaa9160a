import type { RateLimiter } from '@waymark/cache'
import type { ApiKey } from '@waymark/project-config'
import { type Limit, type LimitedClient, limitedClient, tooManyRequests } from '@waymark/service-kit'
import { LRUCache } from 'lru-cache'

/** Limits look-ups of codes that do not exist. */
export type MissLimit = {
  /** @throws AppError rate_limited when the client has reached its limit in this window */
  requireFewMisses(key: ApiKey, ip: string): void
  /** Counts a miss. @throws AppError rate_limited beyond the limit */
  countMiss(key: ApiKey, ip: string): Promise<void>
}

const WINDOW_MS = 60_000
const MAX_CLIENTS = 50_000

/**
 * Counts misses across processes. A client at its limit is kept in memory of the process that counted its last miss, so
 * that hits never query the limiter.
 */
export const createMissLimit = (limiter: RateLimiter, limit: Limit): MissLimit => {
  const stopped = new LRUCache<string, number>({ max: MAX_CLIENTS })

  return {
    requireFewMisses: (apiKey, ip) => {
      const client = limitedClient(apiKey, ip, limit, true)
      const waitMs = (stopped.get(client.key) ?? 0) - performance.now()
      if (waitMs > 0) throw tooManyMisses(client, waitMs)
    },
    countMiss: async (apiKey, ip) => {
      const client = limitedClient(apiKey, ip, limit, true)
      const { key, perMinute } = client
      const use = { bucket: 'coupon-misses', key, limit: perMinute, windowMs: WINDOW_MS }
      const { allowed, remaining, resetMs } = await limiter.consume(use)
      if (remaining === 0) stopped.set(key, performance.now() + resetMs)
      if (!allowed) throw tooManyMisses(client, resetMs)
    },
  }
}

const tooManyMisses = (client: LimitedClient, waitMs: number) =>
  tooManyRequests(client, 'look-ups of codes that do not exist', Math.max(1, Math.ceil(waitMs / 1000)))

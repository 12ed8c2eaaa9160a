import type { RateLimiter } from '@waymark/cache'
import { AppError } from '@waymark/contracts'
import { LRUCache } from 'lru-cache'

/** Stops those who look for codes that do not exist. */
export type MissLimit = {
  /** @throws AppError rate_limited when `client` has missed too often and its window is not over */
  requireFewMisses(client: string): void
  /** Counts a miss. @throws AppError rate_limited when it is one too many */
  countMiss(client: string): Promise<void>
}

const WINDOW_MS = 60_000
const MAX_CLIENTS = 50_000

/**
 * Misses are counted across processes, hits not at all. That a client has used its misses up is remembered in this
 * process from its last miss here, so that even then no hit has to ask.
 */
export const createMissLimit = (limiter: RateLimiter, limit: number): MissLimit => {
  const stopped = new LRUCache<string, number>({ max: MAX_CLIENTS })

  const requireFewMisses = (client: string): void => {
    const waitMs = (stopped.get(client) ?? 0) - performance.now()
    if (waitMs > 0) throw tooManyMisses(waitMs)
  }

  return {
    requireFewMisses,
    countMiss: async (client) => {
      const use = { bucket: 'coupon-misses', key: client, limit, windowMs: WINDOW_MS }
      const { allowed, remaining, resetMs } = await limiter.consume(use)
      if (remaining === 0) stopped.set(client, performance.now() + resetMs)
      if (!allowed) throw tooManyMisses(resetMs)
    },
  }
}

const tooManyMisses = (waitMs: number): AppError =>
  new AppError('rate_limited', 'Too many coupons that do not exist', {
    retryAfter: Math.max(1, Math.ceil(waitMs / 1000)),
  })

import type { RateLimiter } from '@waymark/cache'
import { AppError, lookUpCoupon as operation } from '@waymark/contracts'
import { normalizeCode } from '@waymark/domain'
import type { ApiKey } from '@waymark/project-config'
import {
  type CorePlatform,
  keyRoute,
  type Limit,
  type LimitedClient,
  limitedClient,
  type Route,
  tooManyRequests,
} from '@waymark/service-kit'
import { LRUCache } from 'lru-cache'
import { findCoupon, viewCoupon } from './coupon-queries.ts'

type Deps = Pick<CorePlatform, 'apiKeys' | 'db' | 'clock'> & { missLimit: MissLimit }

/** The discount of a code, and whether it can be redeemed. */
export const lookUpRoute = ({ apiKeys, db, clock, missLimit }: Deps): Route =>
  keyRoute(operation, { apiKeys }, async ({ apiKey, request: { ip, params } }) => {
    missLimit.requireFewMisses(apiKey, ip)
    const code = normalizeCode(params.code ?? '')
    const coupon = code === undefined ? undefined : await findCoupon(db.pool, apiKey.projectId, code)
    if (!coupon) {
      await missLimit.countMiss(apiKey, ip)
      throw new AppError('not_found', 'Not found')
    }
    return { body: viewCoupon(coupon, clock()) }
  })

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

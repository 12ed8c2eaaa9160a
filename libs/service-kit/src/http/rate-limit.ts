import type { RateLimiter } from '@waymark/cache'
import { AppError } from '@waymark/contracts'
import { clientNetworkOf } from '@waymark/domain'
import type { ApiKey } from '@waymark/project-config'
import type { HttpRequest } from './request.ts'

/** A limit, and the name of the setting that holds it. */
export type Limit = { perMinute: number; setting: string }

/** What is counted together, and against which limit. */
export type LimitedClient = Limit & {
  key: string
  /** Whom the limit is for, as the refused client reads it. */
  scope: string
}

/** Requests that count together have the same `bucket`; `limitFor` says how many a client may send in a minute. */
export type RateLimitOptions = {
  limiter: RateLimiter | ((perMinute: number) => RateLimiter)
  bucket: string
  /** Asked at each request, since a limit may be a project's own setting. */
  limitFor: (key: ApiKey) => Limit | Promise<Limit>
  /** Whether a key's own `requestsPerMinute` takes the place of the limit per project and client address. */
  perKey?: boolean
}

/**
 * Counts a request with a valid key. Adds to the headers of its answer where the client stands.
 * @throws AppError rate_limited
 */
export type LimitRequests = (key: ApiKey, request: Pick<HttpRequest, 'ip' | 'replyHeaders'>) => Promise<void>

/** Smaller limits are held exactly over all processes, which takes a request to Redis each time. */
const EXACT_BELOW_PER_MINUTE = 1_000
const WINDOW_MS = 60_000

/**
 * The limiter for a limit: the exact one for small limits; for others the one that counts locally, whose error is then a
 * small part of the limit.
 */
export const limiterBySize =
  ({ rateLimiter, ingestRateLimiter }: { rateLimiter: RateLimiter; ingestRateLimiter: RateLimiter }) =>
  (perMinute: number): RateLimiter =>
    perMinute < EXACT_BELOW_PER_MINUTE ? rateLimiter : ingestRateLimiter

/**
 * The client that a request counts for: the address in the project, or with `perKey` the key when it has a limit of its
 * own.
 */
export const limitedClient = (apiKey: ApiKey, ip: string, limit: Limit, perKey: boolean): LimitedClient =>
  !perKey || apiKey.requestsPerMinute === null
    ? { ...limit, key: `${apiKey.projectId}:${clientNetworkOf(ip)}`, scope: 'project and client address' }
    : {
        perMinute: apiKey.requestsPerMinute,
        setting: 'requestsPerMinute of the API key',
        key: `key:${apiKey.id}`,
        scope: 'API key',
      }

/** 429 that says which limit was reached and where it is set. `retryAfter` is in seconds. */
export const tooManyRequests = (
  { perMinute, scope, setting }: LimitedClient,
  what: string,
  retryAfter: number,
): AppError =>
  new AppError(
    'rate_limited',
    `Too many ${what}: at most ${perMinute} per minute for each ${scope}, set by ${setting}`,
    { retryAfter },
  )

/**
 * Limits the requests of each client (an address, for IPv6 its /64 network) to each project; it is asked before the body
 * is read. Every answer behind it tells with `RateLimit-Limit`, `RateLimit-Remaining` and `RateLimit-Reset` (seconds)
 * where the client stands; 429 also when to come back.
 */
export const rateLimit =
  ({ limiter, bucket, limitFor, perKey = false }: RateLimitOptions): LimitRequests =>
  async (apiKey, { ip, replyHeaders }) => {
    const client = limitedClient(apiKey, ip, await limitFor(apiKey), perKey)
    const { key, perMinute: limit } = client
    const chosen = typeof limiter === 'function' ? limiter(limit) : limiter
    const { allowed, remaining, resetMs } = await chosen.consume({ bucket, key, limit, windowMs: WINDOW_MS })
    const resetS = Math.max(1, Math.ceil(resetMs / 1000))
    replyHeaders['RateLimit-Limit'] = `${limit}`
    replyHeaders['RateLimit-Remaining'] = `${remaining}`
    replyHeaders['RateLimit-Reset'] = `${resetS}`
    if (!allowed) throw tooManyRequests(client, 'requests', resetS)
  }

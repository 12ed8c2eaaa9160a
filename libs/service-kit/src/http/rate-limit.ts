import type { RateLimiter } from '@waymark/cache'
import { AppError } from '@waymark/contracts/app-error'
import { clientNetworkOf } from '@waymark/domain/enrichment'
import type { ApiKey } from '@waymark/project-config'
import type { HttpRequest } from './request.ts'

/** A limit, and the setting that defines it, for error messages. */
export type Limit = { perMinute: number; setting: string }

/** The client whose requests are counted together, and its limit. */
export type LimitedClient = Limit & {
  key: string
  /** Description of the client in error messages. */
  scope: string
}

type RateLimitOptions = {
  limiter: RateLimiter | ((perMinute: number) => RateLimiter)
  /** Requests with the same bucket are counted together. */
  bucket: string
  /** Called for each request, because the limit may be a setting of the project. */
  limitFor: (key: ApiKey) => Limit | Promise<Limit>
  /** Whether `requestsPerMinute` of a key replaces the limit per project and client address. */
  perKey?: boolean
}

/**
 * Counts a request with a valid key, and adds `RateLimit-*` to the headers of its reply.
 * @throws AppError rate_limited
 */
export type LimitRequests = (key: ApiKey, request: Pick<HttpRequest, 'ip' | 'replyHeaders'>) => Promise<void>

/** Smaller limits are enforced exactly across processes, at the cost of a Redis command for each request. */
const EXACT_BELOW_PER_MINUTE = 1_000
const WINDOW_MS = 60_000

/** Selects the exact limiter for small limits, and otherwise the one that counts locally with a small error. */
export const limiterBySize =
  ({ rateLimiter, ingestRateLimiter }: { rateLimiter: RateLimiter; ingestRateLimiter: RateLimiter }) =>
  (perMinute: number): RateLimiter =>
    perMinute < EXACT_BELOW_PER_MINUTE ? rateLimiter : ingestRateLimiter

/**
 * The client of a request: its address within the project, or the key if `perKey` is set and the key has its own limit.
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

/** The error for a reached limit. It names the limit and its setting. `retryAfter` is in seconds. */
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

/** Limits the requests of each client to each project. A client is an IPv4 address or an IPv6 /64 network. */
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

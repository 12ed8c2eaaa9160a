import type { RateLimiter } from '@waymark/cache'
import { AppError } from '@waymark/contracts'
import { clientNetworkOf } from '@waymark/domain'
import type { ApiKey } from '@waymark/project-config'

/** Requests that count together have the same `bucket`; `limitFor` says how many a client may send in a window. */
export type RateLimitOptions = {
  limiter: RateLimiter
  bucket: string
  /** Asked at each request, since a limit may be a project's own setting. */
  limitFor: (key: ApiKey) => number | Promise<number>
  /** A minute, unless given, in ms. */
  windowMs?: number
}

/**
 * Counts a request with a valid key from an address. Adds to the answer's `headers`, names and values in turn, where the
 * client stands.
 * @throws AppError rate_limited
 */
export type LimitRequests = (key: ApiKey, ip: string, headers: string[]) => Promise<void>

/**
 * Limits the requests of each client (an address, for IPv6 its /64 network) to each project; it is asked before the body
 * is read. Every answer behind it tells with `RateLimit-Limit`, `RateLimit-Remaining` and `RateLimit-Reset` (seconds)
 * where the client stands; 429 also when to come back.
 */
export const rateLimit =
  ({ limiter, bucket, limitFor, windowMs = 60_000 }: RateLimitOptions): LimitRequests =>
  async (apiKey, ip, headers) => {
    const key = `${apiKey.projectId}:${clientNetworkOf(ip)}`
    const limit = await limitFor(apiKey)
    const { allowed, remaining, resetMs } = await limiter.consume({ bucket, key, limit, windowMs })
    const resetS = Math.max(1, Math.ceil(resetMs / 1000))
    headers.push('RateLimit-Limit', `${limit}`)
    headers.push('RateLimit-Remaining', `${remaining}`)
    headers.push('RateLimit-Reset', `${resetS}`)
    if (!allowed) throw new AppError('rate_limited', 'Too many requests', { retryAfter: resetS })
  }

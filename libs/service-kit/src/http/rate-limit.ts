import type { RateLimiter } from '@waymark/cache'
import { AppError } from '@waymark/contracts'
import { clientNetworkOf } from '@waymark/domain'
import type { Request, RequestHandler, Response } from 'express'
import { apiKeyOf } from './authenticate.ts'

/** Requests that count together have the same `bucket`; `limitFor` says how many a client may send in a window. */
export type RateLimitOptions = {
  limiter: RateLimiter
  bucket: string
  /** Asked at each request, since a limit may be a project's own setting. */
  limitFor: (req: Request, res: Response) => number | Promise<number>
  /** A minute, unless given, in ms. */
  windowMs?: number
}

/**
 * Limits the requests of each client (an address, for IPv6 its /64 network) to each project; stands after
 * `requireApiKey` and before the body is read. Every answer behind it tells with `RateLimit-Limit`,
 * `RateLimit-Remaining` and `RateLimit-Reset` (seconds) where the client stands; 429 also when to come back.
 */
export const rateLimit =
  ({ limiter, bucket, limitFor, windowMs = 60_000 }: RateLimitOptions): RequestHandler =>
  async (req, res, next) => {
    const key = `${apiKeyOf(res).projectId}:${clientNetworkOf(req.ip ?? '')}`
    const limit = await limitFor(req, res)
    const { allowed, remaining, resetMs } = await limiter.consume({ bucket, key, limit, windowMs })
    const resetS = Math.max(1, Math.ceil(resetMs / 1000))
    res.set('RateLimit-Limit', `${limit}`)
    res.set('RateLimit-Remaining', `${remaining}`)
    res.set('RateLimit-Reset', `${resetS}`)
    if (!allowed) throw new AppError('rate_limited', 'Too many requests', { retryAfter: resetS })
    next()
  }

import { AppError } from '@waymark/contracts/app-error'
import type { Platform } from '@waymark/service-kit'

type RateLimiter = Platform['rateLimiter']
type Use = Parameters<RateLimiter['consume']>[0] & { message: string }

/** Counts a use of what a rate limiter limits. @throws AppError rate_limited with `message` beyond the limit */
export const requireAllowed = async (limiter: RateLimiter, { message, ...use }: Use): Promise<void> => {
  const { allowed, resetMs } = await limiter.consume(use)
  if (!allowed) throw rateLimited(message, resetMs)
}

/** 429 with the time until the limit ends, from milliseconds. */
export const rateLimited = (message: string, resetMs: number): AppError =>
  new AppError('rate_limited', message, { retryAfterSeconds: Math.max(1, Math.ceil(resetMs / 1000)) })

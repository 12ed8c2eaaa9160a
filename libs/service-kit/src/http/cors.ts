import { AppError } from '@waymark/contracts'
import type { ApiKey } from '@waymark/project-config'
import type { Request, RequestHandler, Response } from 'express'

const ALLOWED_METHODS = 'GET, POST, PUT'
const ALLOWED_HEADERS =
  'Authorization, Content-Encoding, Content-Type, Idempotency-Key, If-None-Match, Traceparent, Tracestate, X-API-Key, X-Request-Id, X-Service-Sync'
const EXPOSED_HEADERS =
  'ETag, Idempotent-Replayed, RateLimit-Limit, RateLimit-Remaining, RateLimit-Reset, Retry-After, X-Request-Id'
/** How long a browser may remember a preflight's answer, in seconds; most remember it for less. */
const MAX_AGE_S = 86_400

/**
 * Lets pages of any site call and read the paths below it, errors included, so that a developer sees them.
 * Answers a preflight with 204: it carries no key, so nobody can tell yet which origins may call. There are
 * no credentials that a browser would add by itself; what counts is the key, and `requireAllowedOrigin`.
 */
export const allowBrowsers: RequestHandler = (req, res, next) => {
  const origin = req.get('Origin')
  res.vary('Origin')
  res.set('Cross-Origin-Resource-Policy', 'cross-origin')
  if (origin !== undefined) {
    res.set('Access-Control-Allow-Origin', origin)
    res.set('Access-Control-Expose-Headers', EXPOSED_HEADERS)
  }
  if (req.method !== 'OPTIONS' || req.get('Access-Control-Request-Method') === undefined) return next()
  res.set('Access-Control-Allow-Methods', ALLOWED_METHODS)
  res.set('Access-Control-Allow-Headers', ALLOWED_HEADERS)
  res.set('Access-Control-Max-Age', `${MAX_AGE_S}`)
  res.status(204).end()
}

/**
 * Holds a request against the origins that its key is for. Only `pub` keys have such a list, an empty one
 * allows all, and a request without an `Origin` comes from no page.
 * @throws AppError forbidden, which pages of that origin cannot read
 */
export const requireAllowedOrigin = ({ kind, allowedOrigins }: ApiKey, req: Request, res: Response): void => {
  const origin = req.get('Origin')
  if (kind !== 'pub' || origin === undefined || allowedOrigins.length === 0) return
  if (allowedOrigins.includes(origin)) return
  res.removeHeader('Access-Control-Allow-Origin')
  throw new AppError('forbidden', 'The API key may not be used from this origin')
}

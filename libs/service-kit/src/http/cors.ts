import { AppError } from '@waymark/contracts'
import type { ApiKey } from '@waymark/project-config'
import type { RequestHandler } from 'express'

/** Paths that pages of any site may call with a key. */
export const PUBLIC_API = ['/api/v1', '/ofrep/v1']

const ALLOWED_METHODS = 'GET, POST, PUT'
const ALLOWED_HEADERS =
  'Authorization, Content-Encoding, Content-Type, Idempotency-Key, If-None-Match, Traceparent, Tracestate, X-API-Key, X-Request-Id, X-Service-Sync'
const EXPOSED_HEADERS =
  'ETag, Idempotent-Replayed, RateLimit-Limit, RateLimit-Remaining, RateLimit-Reset, Retry-After, X-Request-Id'
/** How long a browser may remember a preflight's answer, in seconds; most remember it for less. */
const MAX_AGE_S = 86_400

/** Whether pages of any site may call what is at a URL. */
export const isPublicApi = (url: string): boolean => PUBLIC_API.some((path) => url.startsWith(`${path}/`))

const CROSS_ORIGIN = ['Vary', 'Origin', 'Cross-Origin-Resource-Policy', 'cross-origin']

/** Headers by which pages of any site may read an answer, names and values in turn. */
export const crossOriginHeaders = (origin: string | undefined): string[] =>
  origin === undefined
    ? CROSS_ORIGIN
    : [
        ...CROSS_ORIGIN,
        'Access-Control-Allow-Origin',
        origin,
        'Access-Control-Expose-Headers',
        EXPOSED_HEADERS,
      ]

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

/** A page of some origin may not use the key; it may not read this either. */
export class OriginRefusedError extends AppError {
  constructor() {
    super('forbidden', 'The API key may not be used from this origin')
  }
}

/**
 * Holds a request's `Origin` against the origins that its key is for. Only `pub` keys have such a list, an empty one
 * allows all, and a request without an `Origin` comes from no page.
 * @throws OriginRefusedError
 */
export const requireAllowedOrigin = ({ kind, allowedOrigins }: ApiKey, origin: string | undefined): void => {
  if (kind !== 'pub' || origin === undefined || allowedOrigins.length === 0) return
  if (!allowedOrigins.includes(origin)) throw new OriginRefusedError()
}

import { AppError } from '@waymark/contracts'
import type { ApiKey } from '@waymark/project-config'
import type { Reply } from './reply.ts'
import type { HttpRequest } from './request.ts'

/** Paths that pages of any site may call with a key. */
const PUBLIC_API = /^\/(?:api|ofrep)\/v1(?:\/|$)/i

const ALLOWED_METHODS = 'GET, POST, PUT'
const ALLOWED_HEADERS =
  'Authorization, Content-Encoding, Content-Type, Idempotency-Key, If-None-Match, Traceparent, Tracestate, X-API-Key, X-Config-Version, X-Request-Id, X-Service-Sync'
const EXPOSED_HEADERS =
  'ETag, Idempotent-Replayed, RateLimit-Limit, RateLimit-Remaining, RateLimit-Reset, Retry-After, X-Request-Id'
/** How long a browser may remember a preflight's answer, in seconds; most remember it for less. */
const MAX_AGE_S = 86_400

/**
 * Lets pages of any site read the answers of public paths, errors included, so that a developer sees them. There are no
 * credentials that a browser would add by itself; what counts is the key, and `requireAllowedOrigin`.
 */
export const allowBrowsers = ({ path, headers: { origin }, replyHeaders }: HttpRequest): void => {
  if (!PUBLIC_API.test(path)) return
  replyHeaders.Vary = 'Origin'
  replyHeaders['Cross-Origin-Resource-Policy'] = 'cross-origin'
  if (origin === undefined) return
  replyHeaders['Access-Control-Allow-Origin'] = origin
  replyHeaders['Access-Control-Expose-Headers'] = EXPOSED_HEADERS
}

/** Whether a browser asks if a page may send a request. It carries no key, so nobody can tell yet from which origins. */
export const isPreflight = ({ method, path, headers }: HttpRequest): boolean =>
  method === 'OPTIONS' && headers['access-control-request-method'] !== undefined && PUBLIC_API.test(path)

/** The answer to a preflight. */
export const PREFLIGHT_REPLY: Reply = {
  status: 204,
  headers: {
    'Access-Control-Allow-Methods': ALLOWED_METHODS,
    'Access-Control-Allow-Headers': ALLOWED_HEADERS,
    'Access-Control-Max-Age': `${MAX_AGE_S}`,
  },
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

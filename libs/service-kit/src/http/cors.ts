import { AppError } from '@waymark/contracts'
import type { ApiKey } from '@waymark/project-config'
import type { Reply } from './reply.ts'
import type { HttpRequest } from './request.ts'

/** Paths that pages of any site may call with a key. The last two are of Segment's protocol. */
const PUBLIC_API = new RegExp(
  [
    '^/(?:api|ofrep)/v1(?:/|$)',
    '^/(?:beacon/)?v1/',
    '^/(?:batch|track|identify|page|screen|group|alias|import|sourceConfig)/?$',
  ].join('|'),
  'i',
)

const ALLOWED_METHODS = 'GET, POST, PUT'
/** Those with Rsa, SentAt and AnonymousId are of RudderStack's SDK. */
const ALLOWED_HEADERS =
  'AnonymousId, Authorization, Content-Encoding, Content-Type, Idempotency-Key, If-None-Match, Last-Event-ID, Rsa-Recovered, Rsa-Retry-Attempt, Rsa-Retry-Reason, Rsa-Since-First-Attempt, Rsa-Since-Last-Attempt, SentAt, Traceparent, Tracestate, X-API-Key, X-Config-Version, X-Request-Id, X-Retry-Count, X-Service-Sync'
const EXPOSED_HEADERS =
  'ETag, Idempotent-Replayed, RateLimit-Limit, RateLimit-Remaining, RateLimit-Reset, Retry-After, X-Request-Id'
/** How long a browser may cache the answer to a preflight, in seconds. Most use a lower maximum. */
const MAX_AGE_S = 86_400

/**
 * Allows pages of any site to read the answers of public paths, including errors. These paths take no cookies, and
 * `requireAllowedOrigin` checks the origin of each key.
 */
export const allowBrowsers = ({ path, headers: { origin }, replyHeaders }: HttpRequest): void => {
  if (!PUBLIC_API.test(path)) return
  replyHeaders.Vary = 'Origin'
  replyHeaders['Cross-Origin-Resource-Policy'] = 'cross-origin'
  if (origin === undefined) return
  replyHeaders['Access-Control-Allow-Origin'] = origin
  replyHeaders['Access-Control-Expose-Headers'] = EXPOSED_HEADERS
}

/** Whether a request is a CORS preflight. It has no key, so the origin cannot be checked yet. */
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

/** The key may not be used from the origin of the page. Its reply must not allow the page to read it. */
export class OriginRefusedError extends AppError {
  constructor() {
    super('forbidden', 'The API key may not be used from this origin')
  }
}

/**
 * Checks the `Origin` of a request against the allowed origins of its key. Only `pub` keys have such a list, and an empty
 * one allows all.
 * @throws OriginRefusedError
 */
export const requireAllowedOrigin = ({ kind, allowedOrigins }: ApiKey, origin: string | undefined): void => {
  if (kind !== 'pub' || origin === undefined || allowedOrigins.length === 0) return
  if (!allowedOrigins.includes(origin)) throw new OriginRefusedError()
}

import { AppError } from '@waymark/contracts/app-error'
import { isAllowedOrigin } from '@waymark/domain/key'
import type { ApiKey } from '@waymark/project-config'
import cors from 'cors'
import type { RequestHandler } from 'express'
import { localsOf } from './router.ts'

/** Paths that pages of any site may call with a key. The last four are of Segment's and PostHog's protocols. */
const PUBLIC_API = new RegExp(
  [
    '^/(?:api|ofrep)/v1(?:/|$)',
    '^/(?:beacon/)?v1/',
    '^/(?:batch|track|identify|page|screen|group|alias|import|sourceConfig)/?$',
    '^/(?:capture|e|i/v0/e|flags|decide)/?$',
    '^/array/[^/]+/config/?$',
  ].join('|'),
  'i',
)

/**
 * Paths that take events. Browsers send beacons with credentials, and `fetch` may too. No cookie is read here, so this
 * gives a page nothing.
 */
const INGESTION = new RegExp(
  [
    '^/api/v1/(?:t|identify|profile|exposures)/?$',
    '^/(?:beacon/)?v1/',
    '^/(?:batch|track|identify|page|screen|group|alias|import)/?$',
    '^/(?:capture|e|i/v0/e)/?$',
  ].join('|'),
  'i',
)

/** Those with Rsa, SentAt and AnonymousId are of RudderStack's SDK; tracing of pages adds Baggage, Sentry-Trace and Traceparent. */
const ALLOWED_HEADERS =
  'AnonymousId, Authorization, Baggage, Content-Encoding, Content-Type, Idempotency-Key, If-None-Match, Last-Event-ID, Rsa-Recovered, Rsa-Retry-Attempt, Rsa-Retry-Reason, Rsa-Since-First-Attempt, Rsa-Since-Last-Attempt, SentAt, Sentry-Trace, Traceparent, Tracestate, X-API-Key, X-Config-Version, X-Request-Id, X-Retry-Count, X-Service-Sync'
const EXPOSED_HEADERS =
  'ETag, Idempotent-Replayed, RateLimit-Limit, RateLimit-Remaining, RateLimit-Reset, Retry-After, X-Request-Id'
/** How long a browser may cache the answer to a preflight, in seconds. Most use a lower maximum. */
const MAX_AGE_S = 86_400

const answerOrigin = cors({
  // The origin of the request.
  origin: true,
  methods: 'GET, POST, PUT',
  allowedHeaders: ALLOWED_HEADERS,
  exposedHeaders: EXPOSED_HEADERS,
  maxAge: MAX_AGE_S,
  preflightContinue: true,
})

/**
 * Allows pages of any site to read the answers of public paths, including errors, and answers CORS preflights. These paths
 * take no cookies, and `requireAllowedOrigin` checks the origin of each key: a preflight has no key yet.
 */
export const allowBrowsers: RequestHandler = (req, res, next) => {
  const { request, answers } = localsOf(res)
  if (!PUBLIC_API.test(request.path)) return next()
  const { origin, 'access-control-request-method': asked } = req.headers
  request.replyHeaders.Vary = 'Origin'
  request.replyHeaders['Cross-Origin-Resource-Policy'] = 'cross-origin'
  if (origin !== undefined && INGESTION.test(request.path))
    request.replyHeaders['Access-Control-Allow-Credentials'] = 'true'
  if (req.method !== 'OPTIONS') return origin === undefined ? next() : answerOrigin(req, res, next)
  return asked === undefined
    ? next()
    : answerOrigin(req, res, () => answers.send({ status: 204 }, request, res))
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
  if (!isAllowedOrigin(allowedOrigins, origin)) throw new OriginRefusedError()
}

import { AppError, type ErrorCode, type Log, traceIdOf } from '@waymark/contracts'
import { isTransient } from '@waymark/database'
import type { ErrorRequestHandler } from 'express'
import { OriginRefusedError } from './cors.ts'

/** The HTTP status of each error code. */
const statusOf: Record<ErrorCode, number> = {
  bad_request: 400,
  unauthorized: 401,
  forbidden: 403,
  not_found: 404,
  method_not_allowed: 405,
  conflict: 409,
  precondition_failed: 412,
  payload_too_large: 413,
  unsupported_media_type: 415,
  unprocessable: 422,
  rate_limited: 429,
  internal: 500,
  queue_unavailable: 503,
  store_unavailable: 503,
  overloaded: 503,
}

/** Answers whatever a handler threw as JSON `{ error, … }`. What we did not foresee is logged and told to nobody. */
export const answerError =
  (log: Log): ErrorRequestHandler =>
  (error: unknown, req, res, _next) => {
    // Somebody else has answered, since this took too long; the connection goes on.
    if (res.writableEnded) return
    if (res.headersSent) {
      // Half an answer cannot be taken back, only broken off; the client may have done so before.
      if (!req.destroyed)
        log.error(
          { requestId: res.get('X-Request-Id'), method: req.method, err: error },
          'an answer breaks off',
        )
      return void req.socket.destroySoon()
    }
    const known = error instanceof AppError ? error : isTransient(error) ? storeAway() : fromLibrary(error)
    const status = statusOf[known.code]
    if (status >= 500) {
      const requestId = res.get('X-Request-Id')
      // Known by what the client sent even where nothing is traced.
      const traceId = traceIdOf(req.headers)
      log.error(
        { requestId, ...(traceId && { traceId }), method: req.method, err: error },
        'a request failed',
      )
    }
    if (error instanceof OriginRefusedError) res.removeHeader('Access-Control-Allow-Origin')
    const { retryAfterSeconds, retryAfter = retryAfterSeconds, ...details } = known.details
    const waiting = typeof retryAfter === 'number' ? retryIn(retryAfter, req.path) : {}
    if (typeof retryAfter === 'number') res.set('Retry-After', `${retryAfter}`)
    // Whatever was meant to be answered may have said otherwise.
    res.type('json').set('Cache-Control', 'no-store')
    res.status(status).json({ error: known.message, ...details, ...waiting })
  }

/** Management answers name the waiting time otherwise than the rest. */
const retryIn = (seconds: number, path: string): Record<string, number> =>
  /^\/api\/(?!v1\/)/i.test(path) ? { retryAfterSeconds: seconds } : { retryAfter: seconds }

const RETRY_AFTER_S = 30

const storeAway = (): AppError =>
  new AppError('store_unavailable', 'STORE_UNAVAILABLE', { retryAfter: RETRY_AFTER_S })

/** Express and its body parser mark their errors with a status and a type. */
const fromLibrary = (error: unknown): AppError => {
  const { status, type } = error as { status?: unknown; type?: unknown }
  if (status === 413) return new AppError('payload_too_large', 'The request body is too large')
  if (status === 415) return new AppError('unsupported_media_type', 'The Content-Encoding is not supported')
  if (type === 'request.aborted') return new AppError('bad_request', 'The request ended before its body did')
  if (typeof status === 'number' && status >= 400 && status < 500)
    return new AppError('bad_request', 'The request is malformed')
  return new AppError('internal', 'Internal error')
}

import { AppError, type ErrorCode, storeUnavailable } from '@waymark/contracts/app-error'
import { BusUnavailableError } from '@waymark/contracts/bus-unavailable-error'
import type { Endpoint } from '@waymark/contracts/http/operation'
import type { Log } from '@waymark/contracts/log'
import { traceIdOf } from '@waymark/contracts/trace-context'
import { queueErrorIn } from '@waymark/database'
import { isStoreUnavailable } from '@waymark/pipeline'
import type { Reply } from './reply.ts'
import type { HttpRequest } from './request.ts'

/** The HTTP status of each error code. */
const statusOf: Record<ErrorCode, number> = {
  bad_request: 400,
  unauthorized: 401,
  forbidden: 403,
  not_found: 404,
  method_not_allowed: 405,
  request_timeout: 408,
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

/**
 * The reply to a request whose handler threw an error: JSON `{ error, … }`. Unknown errors are logged, and the client
 * gets only `Internal error`.
 */
export const errorReply = (
  error: unknown,
  endpoint: Endpoint | undefined,
  { id: requestId, method, path, headers }: HttpRequest,
  log: Log,
): Reply => {
  const known = error instanceof AppError ? error : appErrorOf(error)
  const status = statusOf[known.code]
  if (status >= 500) {
    // From the headers, because tracing may be off.
    const traceId = traceIdOf(headers)
    log.error({ requestId, ...(traceId && { traceId }), method, err: error }, 'Request failed')
  }
  const { retryAfterSeconds, retryAfter = retryAfterSeconds, ...details } = known.details
  const waits = typeof retryAfter === 'number'
  return {
    status,
    headers: { 'Cache-Control': 'no-store', ...(waits && { 'Retry-After': `${retryAfter}` }) },
    body: {
      error: known.message,
      ...ofrepDetails(known, path),
      ...details,
      ...(waits && { [endpoint?.management ? 'retryAfterSeconds' : 'retryAfter']: retryAfter }),
    },
  }
}

/** OpenFeature clients expect `errorCode` in every error of the OFREP paths. */
const ofrepDetails = ({ message }: AppError, path: string): Record<string, string> =>
  /^\/ofrep\//i.test(path) ? { errorCode: 'GENERAL', errorDetails: message } : {}

const QUEUE_RETRY_S = 60

/** What a client learns of an error that no handler knew: which dependency is unavailable, or nothing. */
const appErrorOf = (error: unknown): AppError => {
  const waiting = queueErrorIn(error)
  if (waiting) return waiting
  if (error instanceof BusUnavailableError)
    return new AppError('queue_unavailable', 'QUEUE_UNAVAILABLE', { retryAfter: QUEUE_RETRY_S })
  if (isStoreUnavailable(error) || isTimeout(error)) return storeUnavailable(error)
  return new AppError('internal', 'Internal error')
}

/** Whether a signal ended the work, such as that of a deadline. */
const isTimeout = (error: unknown): boolean =>
  error instanceof Error && (error.name === 'TimeoutError' || error.name === 'AbortError')

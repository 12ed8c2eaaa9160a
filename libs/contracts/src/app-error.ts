/** Codes of errors. service-kit maps each to an HTTP status. */
export type ErrorCode =
  | 'bad_request'
  | 'unauthorized'
  | 'forbidden'
  | 'not_found'
  | 'method_not_allowed'
  | 'request_timeout'
  | 'conflict'
  | 'precondition_failed'
  | 'payload_too_large'
  | 'unsupported_media_type'
  | 'unprocessable'
  | 'rate_limited'
  | 'queue_unavailable'
  | 'store_unavailable'
  | 'overloaded'
  | 'internal'

/** An error for the client: `message` becomes `error` in the body, next to `details`. */
export class AppError extends Error {
  readonly code: ErrorCode
  readonly details: Readonly<Record<string, unknown>>

  constructor(
    code: ErrorCode,
    message: string,
    details: Record<string, unknown> = {},
    options?: ErrorOptions,
  ) {
    super(message, options)
    this.name = 'AppError'
    this.code = code
    this.details = details
  }
}

const RETRY_AFTER_S = 30

/** A store does not answer. Repeating the request is safe. */
export const storeUnavailable = (cause?: unknown, retryAfter = RETRY_AFTER_S): AppError =>
  new AppError('store_unavailable', 'STORE_UNAVAILABLE', { retryAfter }, { cause })

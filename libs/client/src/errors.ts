import type { HttpMethod, PathsWithMethod } from './api-types.ts'
import type { paths } from './generated/api.d.ts'

/** A problem of one field of a request. */
export type FieldProblem = {
  field: string
  message: string
  rule?: string
  expected?: unknown
  actual?: unknown
}

type Responses<M extends HttpMethod, P extends keyof paths> = paths[P][M] extends { responses: infer R }
  ? R
  : never

/** The JSON of an error of an operation, by its status, as the OpenAPI document describes it. */
export type ErrorBody<M extends HttpMethod, P extends keyof paths, S extends number> =
  Responses<M, P> extends { [Status in S]: { content: { 'application/json': infer Body } } } ? Body : unknown

/** An answer of the API with a status of 400 or more. */
export class ApiError<Body = unknown> extends Error {
  override readonly name = 'ApiError'
  readonly status: number
  /** The method and path of the operation, such as `POST /api/v1/decide`. */
  readonly operation: string
  /** The parsed JSON of the answer, or its text. */
  readonly body: Body
  /** The problem of each field. Empty where the API names none. */
  readonly problems: readonly FieldProblem[]
  /** A code such as `reauthentication_required`, if the API gives one. */
  readonly code: string | undefined
  /** When to try again, in seconds, if the API says so. */
  readonly retryAfterSeconds: number | undefined
  /** Identifies the request in the logs of the server. */
  readonly requestId: string | undefined

  constructor(operation: string, response: Response, body: Body) {
    const details = detailsOf(body)
    super(`${operation} answered ${response.status}: ${messageOf(details, response)}`)
    this.status = response.status
    this.operation = operation
    this.body = body
    this.problems = Array.isArray(details.errors) ? details.errors : []
    this.code = details.code
    const header = Number(response.headers.get('Retry-After') ?? Number.NaN)
    this.retryAfterSeconds =
      details.retryAfterSeconds ?? details.retryAfter ?? (Number.isFinite(header) ? header : undefined)
    this.requestId = response.headers.get('X-Request-Id') ?? undefined
  }
}

/** There was no answer: the server cannot be reached, or the connection broke. `cause` is the error of `fetch`. */
export class ConnectionError extends Error {
  override readonly name = 'ConnectionError'

  constructor(operation: string, baseUrl: string, cause: unknown) {
    super(`${operation}: no answer from ${baseUrl}${reasonOf(cause)}`, { cause })
  }
}

/**
 * Whether an error is an answer of this operation with this status, whose JSON is then typed:
 * `if (isApiError(error, 'post', '/api/v1/coupons/redeem', 409)) show(error.body.reason)`.
 */
export const isApiError = <M extends HttpMethod, P extends PathsWithMethod<M>, S extends number>(
  error: unknown,
  method: M,
  path: P,
  status: S,
): error is ApiError<ErrorBody<M, P, S>> & { status: S } =>
  error instanceof ApiError && error.status === status && error.operation === operationName(method, path)

/** How errors and messages name an operation. */
export const operationName = (method: string, path: string): string => `${method.toUpperCase()} ${path}`

type Details = {
  error?: string
  message?: string
  errors?: FieldProblem[]
  code?: string
  retryAfter?: number
  retryAfterSeconds?: number
}

const detailsOf = (body: unknown): Details =>
  typeof body === 'object' && body !== null ? (body as Details) : {}

const messageOf = ({ error, message, errors }: Details, { statusText }: Response): string => {
  const text = message ?? error ?? statusText
  const [first] = Array.isArray(errors) ? errors : []
  return first && !text.includes(first.message) ? `${text} (${first.field}: ${first.message})` : text
}

/** What `fetch` hides in causes, such as `ECONNREFUSED`. */
const reasonOf = (error: unknown): string => {
  if (!(error instanceof Error)) return ''
  if (error.cause instanceof Error) return reasonOf(error.cause)
  const code = 'code' in error && typeof error.code === 'string' ? error.code : error.message
  return ` (${code})`
}

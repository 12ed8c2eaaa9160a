export { type Client, type ClientOptions, createClient } from './create-client.ts'
export { ApiError, ConnectionError, type ErrorBody, type FieldProblem, isApiError } from './errors.ts'
export type { operations, paths } from './generated/api.d.ts'
export type { RetryOptions } from './retry.ts'

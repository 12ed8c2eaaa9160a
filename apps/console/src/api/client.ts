import createClient from 'openapi-fetch'
import type { paths } from '../generated/api.d.ts'

/** A problem of one field, as reported by the API. */
type FieldProblem = { field: string; message: string }

/** A failed response of the API. Status 0 means that there was no response. */
export class ApiError extends Error {
  readonly status: number
  readonly problems: readonly FieldProblem[]
  constructor(status: number, message: string, problems: readonly FieldProblem[] = []) {
    super(message)
    this.status = status
    this.problems = problems
  }
}

export const api = createClient<paths>({ baseUrl: '/' })

type Answer<T> = { data?: T; error?: unknown; response: Response }

/**
 * The data of a response.
 * @throws ApiError when the API refused the request or could not be reached
 */
export const unwrap = async <T>(answer: Promise<Answer<T>>): Promise<T> => {
  const { data, error, response } = await answer.catch(() => {
    throw new ApiError(0, 'Waymark cannot be reached. Check that it runs and that you are online.')
  })
  if (!response.ok) throw errorOf(response.status, error)
  return data as T
}

const errorOf = (status: number, body: unknown): ApiError => {
  const { error, message, errors, retryAfterSeconds } = (body ?? {}) as {
    error?: string
    message?: string
    errors?: FieldProblem[]
    retryAfterSeconds?: number
  }
  const text = message ?? error ?? `The server answered with status ${status}.`
  const wait = retryAfterSeconds ? ` Try again in ${retryAfterSeconds} s.` : ''
  return new ApiError(status, `${text}${wait}`, errors ?? [])
}

/** The error as text for users. */
export const messageOf = (error: unknown): string => {
  if (!(error instanceof Error)) return String(error)
  if (!(error instanceof ApiError) || error.problems.length === 0) return error.message
  return error.problems.map(({ field, message }) => (field ? `${field}: ${message}` : message)).join('\n')
}

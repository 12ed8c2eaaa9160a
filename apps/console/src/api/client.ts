import createClient from 'openapi-fetch'
import type { paths } from '../generated/api.d.ts'
import { askForProof, type ProofMethod } from './reauthentication.ts'

/** A problem of one field, as reported by the API. */
type FieldProblem = { field: string; message: string }

/** A failed response of the API. Status 0 means that there was no response. */
export class ApiError extends Error {
  readonly status: number
  readonly problems: readonly FieldProblem[]
  /** What the user has to do first, if the API names it. */
  readonly code: string | undefined
  constructor(status: number, message: string, problems: readonly FieldProblem[] = [], code?: string) {
    super(message)
    this.status = status
    this.problems = problems
    this.code = code
  }
}

export const api = createClient<paths>({ baseUrl: '/' })

const copies = new Map<string, Request>()

/** Repeats a request that needs a recent sign-in after the user has proved who they are. */
api.use({
  onRequest: ({ id, request }) => {
    // A body can be sent once.
    copies.set(id, request.clone())
  },
  onResponse: async ({ id, response }) => {
    const copy = copies.get(id)
    copies.delete(id)
    if (!copy || response.status !== 403) return undefined
    // A proxy may answer something else than JSON.
    const body: unknown = await response
      .clone()
      .json()
      .catch(() => ({}))
    const { code, method } = body as { code?: string; method?: ProofMethod }
    if (code !== 'reauthentication_required' || !method) return undefined
    return (await askForProof(method)) ? fetch(copy) : undefined
  },
  onError: ({ id }) => {
    copies.delete(id)
  },
})

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
  const { error, message, errors, retryAfterSeconds, code } = (body ?? {}) as {
    error?: string
    message?: string
    errors?: FieldProblem[]
    retryAfterSeconds?: number
    code?: string
  }
  const text = message ?? error ?? `The server answered with status ${status}.`
  const wait = retryAfterSeconds ? ` Try again in ${retryAfterSeconds} s.` : ''
  return new ApiError(status, `${text}${wait}`, errors ?? [], code)
}

/** Whether a change was refused because others have to approve it. */
export const needsApproval = (error: unknown): boolean =>
  error instanceof ApiError && error.code === 'approval_required'

/** The error as text for users. */
export const messageOf = (error: unknown): string => {
  if (!(error instanceof Error)) return String(error)
  if (!(error instanceof ApiError) || error.problems.length === 0) return error.message
  return error.problems.map(({ field, message }) => (field ? `${field}: ${message}` : message)).join('\n')
}

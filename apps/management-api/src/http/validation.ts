import { AppError } from '@waymark/contracts/app-error'
import type { Operation } from '@waymark/contracts/http/operation'
import type { ValidationItem } from '@waymark/contracts/http/track-result'
import { show } from '@waymark/contracts/problem-message'
import { requireNoProblems } from '@waymark/contracts/require-valid'
import { dateOfTime } from '@waymark/contracts/rfc3339'
import type { SchemaProblem } from '@waymark/contracts/validator'
import { logicProblems } from '@waymark/domain/logic'
import { unknownParameters } from '@waymark/service-kit'

/** The pattern of an id, as part of other patterns. */
export const UUID_PATTERN = '[0-9a-f]{8}-(?:[0-9a-f]{4}-){3}[0-9a-f]{12}'

/** Matches an id. */
export const UUID = new RegExp(`^${UUID_PATTERN}$`)

/**
 * 422 for a well-formed request that cannot be executed, with the field at fault in `errors`. `message` is a predicate of
 * the field, such as `must be before to`. Pass `received` if the field's own value is at fault.
 */
export const unprocessable = (field: string, rule: string, message: string, received?: unknown): AppError =>
  invalid([{ field, rule, message: received === undefined ? message : `${message}; got ${show(received)}` }])

/** The time of a field, which must come after `now` (ms since the epoch). @throws AppError unprocessable */
export const requireFutureTime = (field: string, text: string, now: number): Date => {
  const time = dateOfTime(text)
  if (time.getTime() > now) return time
  throw unprocessable(field, 'format', 'must be an RFC 3339 time in the future', text)
}

/** 422 with all errors; its `error` is the first one as a sentence. */
export const invalid = (errors: readonly ValidationItem[]): AppError =>
  new AppError('unprocessable', sentenceOf(errors[0]), { errors })

const sentenceOf = (
  { field, message }: { field: string; message: string } = { field: '', message: 'is not valid' },
) => `${field === '' ? 'The request' : field} ${message}`

/**
 * Reads what is below a field of the request.
 * @throws AppError unprocessable as `read` does, with fields below `field`
 */
export const below = <T>(field: string, read: () => T): T => {
  try {
    return read()
  } catch (error) {
    if (!(error instanceof AppError)) throw error
    const errors = (error.details.errors ?? []) as ValidationItem[]
    throw invalid(
      errors.map((one) => ({ ...one, field: one.field === '' ? field : `${field}.${one.field}` })),
    )
  }
}

/** 422 for what does not fit its schema. */
export const unfit = (problem: SchemaProblem): AppError => invalid([problem])

/** @throws AppError bad_request with the unknown query parameters in `errors` */
export const requireKnownParameters = (operation: Pick<Operation, 'query'>, url: string): void => {
  const errors = unknownParameters(operation, url)
  if (errors.length > 0) throw new AppError('bad_request', sentenceOf(errors[0]), { errors })
}

/** @throws AppError unprocessable when the JsonLogic of `filter` may not be saved */
export const requireUsableFilter = (filter: unknown): void =>
  requireNoProblems(logicProblems(filter, 'filter'), 'The filter cannot be used')

/** The id of a path. @throws AppError not_found when no record can have it */
export const requireId = (id: string): string => {
  if (UUID.test(id)) return id
  throw new AppError('not_found', 'Not found')
}

/** The result of a look-up. @throws AppError not_found when there is none */
export const requireFound = <T>(found: T | null | undefined): T => {
  if (found === null || found === undefined) throw new AppError('not_found', 'Not found')
  return found
}

import { AppError } from './app-error.ts'
import type { ValidationItem } from './http/track-result.ts'
import type { SchemaProblem, Validator } from './validator.ts'

/**
 * A part of a request that fits its schema.
 * @throws AppError what `refuse` makes of the first field that does not: bad_request naming it, unless given
 */
export const requireValid = <T>(
  validator: Validator<T>,
  value: unknown,
  refuse: (problem: SchemaProblem) => AppError = badRequest,
): T => {
  if (validator.fits(value)) return value
  throw refuse(validator.check(value) ?? { field: '', rule: 'schema', message: 'is not valid' })
}

const badRequest = ({ field, rule, message }: SchemaProblem): AppError => {
  // An id is never meant to be one of the values that the schema excludes.
  const reason = rule === 'not' ? 'looks like a bug in the client' : message
  return new AppError('bad_request', field === '' ? `The body ${reason}` : `${field} ${reason}`)
}

/** @throws AppError unprocessable with the problems in `errors`, when there are any */
export const requireNoProblems = (problems: readonly ValidationItem[], message: string): void => {
  if (problems.length > 0) throw new AppError('unprocessable', message, { errors: problems })
}

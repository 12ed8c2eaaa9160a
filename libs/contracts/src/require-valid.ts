import { AppError } from './app-error.ts'
import type { ValidationItem } from './http/track-result.ts'
import type { SchemaProblem, Validator } from './validator.ts'

/**
 * Checks a part of a request against its schema and returns it.
 * @throws AppError from `refuse` for the first invalid field; by default bad_request with its name
 */
export const requireValid = <T>(
  validator: Validator<T>,
  value: unknown,
  refuse: (problem: SchemaProblem) => AppError = badRequest,
): T => {
  if (validator.fits(value)) return value
  throw refuse(validator.check(value) ?? { field: '', rule: 'schema', message: 'is not valid' })
}

const badRequest = ({ field, message }: SchemaProblem): AppError =>
  new AppError('bad_request', field === '' ? `The body ${message}` : `${field} ${message}`)

/** @throws AppError unprocessable with the problems in `errors`, when there are any */
export const requireNoProblems = (problems: readonly ValidationItem[], message: string): void => {
  if (problems.length > 0) throw new AppError('unprocessable', message, { errors: problems })
}

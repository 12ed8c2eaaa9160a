import { AppError, type Validator } from '@waymark/contracts'

/** What an id looks like, for a pattern to hold it. */
export const UUID_PATTERN = '[0-9a-f]{8}-(?:[0-9a-f]{4}-){3}[0-9a-f]{12}'

/** Matches an id and nothing else. */
export const UUID = new RegExp(`^${UUID_PATTERN}$`)

/** A request that is well-formed JSON and yet cannot be done: 422, with the field at fault in `errors`. */
export const unprocessable = (field: string, rule: string, message: string): AppError =>
  new AppError('unprocessable', 'The request is not valid', { errors: [{ field, rule, message }] })

/** The body as the validator's type. @throws AppError unprocessable when it does not fit */
export const requireValid = <T>(validator: Validator<T>, body: unknown): T => {
  if (validator.fits(body)) return body
  const { field = '', rule = 'schema', message = 'is invalid' } = validator.check(body) ?? {}
  throw unprocessable(field, rule, message)
}

/** The id as it stands in the path. @throws AppError not_found when no record can have it */
export const requireId = (id: string): string => {
  if (UUID.test(id)) return id
  throw new AppError('not_found', 'Not found')
}

/** What a look-up found. @throws AppError not_found when that is nothing */
export const requireFound = <T>(found: T | null | undefined): T => {
  if (found === null || found === undefined) throw new AppError('not_found', 'Not found')
  return found
}

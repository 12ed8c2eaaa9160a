import { AppError, decide, MAX_CONTEXT_DEPTH } from '@waymark/contracts'
import { isDeeperThan } from '@waymark/domain'

/** What a decide request asks; no keys are all that are active. */
export type ParsedDecide = {
  visitorId: string | null
  userId: string | null
  keys: readonly string[] | null
  context: Record<string, unknown>
}

/** Reads the body of a decide request. @throws AppError bad_request */
export const parseDecide = (body: unknown): ParsedDecide => {
  const validator = decide.body?.validator
  if (!validator?.fits(body)) throw new AppError('bad_request', describe(validator?.check(body)))
  const { visitorId = null, userId = null, keys = null, context } = body
  if (visitorId === null && userId === null)
    throw new AppError('bad_request', 'visitorId or userId is required')
  requireShallow(context ?? {})
  return { visitorId, userId, keys: keys && [...new Set(keys)], context: context ?? {} }
}

/** Checks that a context is not nested too deep. @throws AppError bad_request */
export const requireShallow = (context: Record<string, unknown>): void => {
  if (isDeeperThan(context, MAX_CONTEXT_DEPTH))
    throw new AppError('bad_request', `context is nested deeper than ${MAX_CONTEXT_DEPTH} levels`)
}

const describe = (problem: { field: string; rule: string; message: string } | undefined): string => {
  const { field = '', rule, message = 'is invalid' } = problem ?? {}
  // The schema's own words for it would be no help.
  const reason = rule === 'not' ? 'looks like a bug in the client' : message
  return field === '' ? `The body ${reason}` : `${field} ${reason}`
}

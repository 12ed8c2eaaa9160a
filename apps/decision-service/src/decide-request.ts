import { AppError, decideRequest, MAX_CONTEXT_DEPTH, requireValid } from '@waymark/contracts'
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
  const { visitorId = null, userId = null, keys = null, context } = requireValid(decideRequest, body)
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

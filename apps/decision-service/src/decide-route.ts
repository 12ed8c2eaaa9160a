import { AppError } from '@waymark/contracts/app-error'
import {
  decideRequest,
  MAX_CONTEXT_DEPTH,
  MAX_DECIDE_BODY_BYTES,
  decide as operation,
} from '@waymark/contracts/http/decide'
import { requireValid } from '@waymark/contracts/require-valid'
import type { DecisionSet } from '@waymark/domain/decision'
import { isDeeperThan } from '@waymark/domain/json'
import { type CorePlatform, keyRoute, type LimitRequests, type Route } from '@waymark/service-kit'
import type { Decide } from './decide.ts'

type Deps = { apiKeys: CorePlatform['apiKeys']; limitRequests: LimitRequests; decide: Decide }

/** 200 with a decision for each key, or for all active decisions. */
export const decideRoute = ({ decide, ...deps }: Deps): Route =>
  keyRoute(operation, { ...deps, maxBodyBytes: MAX_DECIDE_BODY_BYTES }, async ({ apiKey, body }) => {
    const { keys, ...request } = parseDecide(body.value)
    const which = keys ?? allActive
    const { projectId, environment } = apiKey
    return { body: await decide({ ...request, projectId, environment, which, shown: true }) }
  })

const allActive = ({ active }: DecisionSet) => active

/** A decide request. `keys: null` means all active decisions. */
type ParsedDecide = {
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

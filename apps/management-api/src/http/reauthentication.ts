import { AppError } from '@waymark/contracts/app-error'
import {
  type Change,
  conditionalEffects,
  constantEffects,
  type Effect,
  effectRequirements,
} from '@waymark/contracts/http/effects'
import type { Operation } from '@waymark/contracts/http/operation'
import type { Session } from '../accounts/session-queries.ts'
import { refuseAccessToken } from './session-cookie.ts'

/** How long a sign-in or a proof of identity counts as recent, in ms. */
export const RECENT_MS = 10 * 60_000

/** Checks the effects of a change, given the resource as it was before. Keys may have each effect that their scope allows. */
export type CheckEffects = (before?: object) => void

/**
 * Refuses effects for which the session is too old.
 * @throws AppError forbidden, with the code `reauthentication_required`, or for an access token
 */
export const requireEffects = (effects: readonly Effect[], session: Session, now: number): void => {
  const byToken = session.kind === 'access-token'
  const checked = effects.filter(
    (effect) => !byToken || effectRequirements[effect].accessTokens === 'refused',
  )
  if (checked.length > 0) requireRecent(session, now)
}

/** Refuses what every request of an operation does, for which the session is too old. @throws AppError forbidden */
export const requireConstantEffects = ({ effects }: Operation, session: Session, now: number): void =>
  requireEffects(constantEffects(effects), session, now)

/**
 * Creates the check of the effects that depend on a request. A handler calls it in its transaction, with the locked
 * resource, before it changes it.
 * @param session the caller's; undefined for a key
 */
export const createCheckEffects = <B, Q>(
  operation: Operation<B, Q>,
  request: Pick<Change<B, Q>, 'body' | 'query'>,
  session: Session | undefined,
  clock: () => number,
) => {
  const conditional = conditionalEffects(operation.effects)
  let checked = conditional.length === 0
  const checkEffects: CheckEffects = (before = {}) => {
    checked = true
    if (!session) return
    const change = { ...request, before: { ...before } }
    const effects = conditional.filter((one) => one.when(change)).map(({ effect }) => effect)
    requireEffects(effects, session, clock())
  }
  return {
    checkEffects,
    /** @throws Error when a handler has forgotten the check */
    requireChecked: () => {
      if (!checked) throw new Error(`${operation.id} has effects that its handler did not check`)
    },
  }
}

/**
 * Refuses what destroys or gives away something, unless the user has proved within 10 minutes who they are.
 * @throws AppError forbidden, with the code `reauthentication_required` and how to prove it, or for an access token
 */
const requireRecent = (session: Session, now: number): void => {
  refuseAccessToken(session)
  if (session.verifiedAt !== null && now - session.verifiedAt.getTime() < RECENT_MS) return
  const method = methodOf(session)
  const path = method === 'provider' ? '/api/auth/oidc/reauthenticate' : '/api/auth/reauthenticate'
  throw new AppError('forbidden', `Confirm that it is you: POST ${path}, then repeat the request`, {
    code: 'reauthentication_required',
    method,
  })
}

const methodOf = ({ identityId, user }: Session): 'code' | 'password' | 'provider' => {
  if (identityId !== null) return 'provider'
  return user.hasSecondFactor ? 'code' : 'password'
}

/** 403 for a member without the second factor that the tenant requires. */
export const secondFactorRequired = (): AppError =>
  new AppError('forbidden', 'The company requires a second factor: set one up on the page of your account', {
    code: 'second_factor_required',
  })

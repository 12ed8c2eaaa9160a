import { AppError } from '@waymark/contracts'
import type { Session } from '../accounts/session-queries.ts'
import { refuseAccessToken } from './session-cookie.ts'

/** How long a sign-in or a proof of identity counts as recent, in ms. */
export const RECENT_MS = 10 * 60_000

/**
 * Refuses what destroys or gives away something, unless the user has proved within 10 minutes who they are.
 * @throws AppError forbidden, with the code `reauthentication_required` and how to prove it, or for an access token
 */
export const requireRecent = (session: Session, now: number): void => {
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

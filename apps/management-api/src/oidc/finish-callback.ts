import { AppError } from '@waymark/contracts/app-error'
import { type HttpRequest, queryTextOf } from '@waymark/service-kit'
import { AuthorizationResponseError } from 'openid-client'
import type { Session } from '../accounts/session-queries.ts'
import { clientOf } from '../http/request-parts.ts'
import { clearSignInCookie, findSession, setSessionCookie, signInTokenOf } from '../http/session-cookie.ts'
import { UUID } from '../http/validation.ts'
import type { ManagementDeps } from '../management-deps.ts'
import { createFinishSignIn, type SignInFailure, type SignInResult } from './finish-sign-in.ts'
import type { OidcDeps } from './oidc-deps.ts'
import type { Claimed, PendingSignIns } from './pending-sign-in-queries.ts'
import { type OidcProvider, unreachableReason } from './provider-clients.ts'
import type { ProviderFlow, ProviderUser } from './provider-flow.ts'

/** What a browser is at a provider for. */
export type Purpose = 'sign-in' | 'link' | 'reauthentication'

const purposeOf = ({
  sessionId,
  reauthenticates,
}: Pick<Claimed, 'sessionId' | 'reauthenticates'>): Purpose => {
  if (sessionId === null) return 'sign-in'
  return reauthenticates ? 'reauthentication' : 'link'
}

/** How a sign-in with a provider ended. */
export type CallbackOutcome = SignInResult & { next?: string | null; purpose: Purpose }

type CallbackDeps = ManagementDeps & { oidc: OidcDeps; pending: PendingSignIns; flow: ProviderFlow }

/** Returns a function that finishes the sign-in of a browser that a provider sent back. */
export const createFinishCallback = ({ oidc, pending, flow, ...deps }: CallbackDeps) => {
  const { accountLimits, sessions, db, log } = deps
  const finish = createFinishSignIn({ ...deps, resolveTxt: oidc.resolveTxt })

  const isLimited = async (address: string): Promise<boolean> => {
    try {
      await accountLimits.countSignIn(address)
      return false
    } catch (error) {
      if (error instanceof AppError && error.code === 'rate_limited') return true
      throw error
    }
  }

  /** The user as the provider describes them, or why it does not. */
  const readUser = async (
    provider: OidcProvider,
    request: HttpRequest,
    begun: Claimed,
    state: string,
  ): Promise<{ user: ProviderUser } | { failure: SignInFailure }> => {
    try {
      return { user: await flow.readUser(provider, queryTextOf(request.url), { state, ...begun }) }
    } catch (error) {
      if (!(error instanceof Error)) throw error
      const [providerId, requestId] = [provider.id, request.id]
      log.warn({ err: withoutTokens(error), providerId, requestId }, 'OIDC sign-in failed')
      return { failure: failureOf(error) }
    }
  }

  /** Links the user to the session that asked for it, or proves that it is still theirs. */
  const useInSession = async (
    provider: OidcProvider,
    user: ProviderUser,
    request: HttpRequest,
    { sessionId, reauthenticates, startedAt }: Claimed,
  ): Promise<SignInResult> => {
    const session = await findSession(sessions, request)
    if (!isSessionOf(session, sessionId)) return { failure: 'session_ended' }
    if (!reauthenticates) return finish.link(provider, user, session)
    const proved = await finish.prove(provider, user, session, startedAt)
    if (!('failure' in proved)) await sessions.verify(session.id)
    return proved
  }

  const startSession = async (
    provider: OidcProvider,
    user: ProviderUser,
    request: HttpRequest,
  ): Promise<SignInResult> => {
    const result = await finish.signIn(provider, user)
    if ('failure' in result) return result
    const token = await sessions.startOfIdentity(result.identityId, user, clientOf(request))
    if (token === undefined) return { failure: 'expired' }
    setSessionCookie(request, token)
    return result
  }

  return async (request: HttpRequest): Promise<CallbackOutcome> => {
    const { id: providerId = '' } = request.params
    if (await isLimited(clientOf(request).address)) return { failure: 'rate_limited', purpose: 'sign-in' }
    const state = new URLSearchParams(queryTextOf(request.url)).get('state') ?? ''
    const begun = UUID.test(providerId)
      ? await pending.claim(providerId, state, signInTokenOf(request))
      : undefined
    if (!begun) return { failure: 'expired', purpose: 'sign-in' }
    clearSignInCookie(request)
    const rest = { next: begun.next, purpose: purposeOf(begun) }
    const provider = await db.prisma.oidcProvider.findUnique({ where: { id: providerId } })
    if (!provider) return { failure: 'expired', ...rest }
    const read = await readUser(provider, request, begun, state)
    if ('failure' in read) return { ...read, ...rest }
    try {
      const result =
        begun.sessionId === null
          ? await startSession(provider, read.user, request)
          : await useInSession(provider, read.user, request, begun)
      return { ...result, ...rest }
    } catch (error) {
      if (error instanceof AppError && error.code === 'unprocessable')
        return { failure: 'member_quota', ...rest }
      throw error
    }
  }
}

const isSessionOf = (session: Session | undefined, sessionId: string | null): session is Session =>
  session?.kind === 'session' && session.id === sessionId

const failureOf = (error: Error): SignInFailure => {
  if (error instanceof AuthorizationResponseError && error.error === 'access_denied') return 'denied'
  return unreachableReason(error) === undefined ? 'provider_refused' : 'provider_unavailable'
}

// The cause of an error may hold the provider's answer with its tokens.
const withoutTokens = ({ name, message, ...rest }: Error & { code?: unknown }) => ({
  type: name,
  message: message.slice(0, 300),
  code: rest.code,
})

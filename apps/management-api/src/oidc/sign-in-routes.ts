import {
  AppError,
  findOidcProviders,
  finishOidcSignIn,
  linkIdentity,
  reauthenticateWithProvider,
  startOidcSignIn,
} from '@waymark/contracts'
import { guardedRoute, type HttpRequest, queryTextOf, type Reply, type Route } from '@waymark/service-kit'
import {
  AuthorizationResponseError,
  authorizationCodeGrant,
  buildAuthorizationUrl,
  calculatePKCECodeChallenge,
  fetchUserInfo,
  randomNonce,
  randomPKCECodeVerifier,
} from 'openid-client'
import type { Session } from '../accounts/session-queries.ts'
import { clientOf } from '../http/request-parts.ts'
import { clearSignInCookie, findSession, setSessionCookie, signInTokenOf } from '../http/session-cookie.ts'
import { requireFound, UUID, unprocessable } from '../http/validation.ts'
import type { ManagementDeps } from '../management-deps.ts'
import { readClaims } from './claims.ts'
import { parseDomain } from './domains.ts'
import { createFinishSignIn, type SignInFailure, type SignInResult } from './finish-sign-in.ts'
import { nextPage } from './next-page.ts'
import type { OidcDeps } from './oidc-deps.ts'
import { type Begun, createPendingSignIns } from './pending-sign-in-queries.ts'
import { type OidcProvider, providerUnavailable } from './provider-clients.ts'

const SCOPES = ['openid', 'email', 'profile']

/** The address to which a provider sends browsers back. It differs by provider, so that none can answer for another. */
export const redirectUriOf = (publicUrl: string, providerId: string): string =>
  `${publicUrl}/api/auth/oidc/${providerId}/callback`

/** Sign-in with the provider of a tenant: authorization code flow with PKCE, state and nonce. */
export const oidcSignInRoutes = ({ oidc, ...deps }: ManagementDeps & { oidc: OidcDeps }): Route[] => {
  const { accountRoutes, accountLimits, sessions, auditLog, db, log } = deps
  const pending = createPendingSignIns(deps)
  const finish = createFinishSignIn({ ...deps, resolveTxt: oidc.resolveTxt })

  const begin = async (
    providerId: string,
    {
      next,
      sessionId,
      reauthenticates = false,
    }: { next?: string | undefined; sessionId?: string; reauthenticates?: boolean },
  ) => {
    const provider = requireFound(await db.prisma.oidcProvider.findUnique({ where: { id: providerId } }))
    const { configuration } = await oidc.clients.clientOf(provider).catch((error) => {
      throw providerUnavailable(error)
    })
    const codeVerifier = randomPKCECodeVerifier()
    const nonce = randomNonce()
    const { state, browser } = await pending.begin({
      providerId,
      sessionId: sessionId ?? null,
      reauthenticates,
      codeVerifier,
      nonce,
      next: nextPage(next) ?? null,
    })
    const url = buildAuthorizationUrl(configuration, {
      redirect_uri: redirectUriOf(oidc.publicUrl, providerId),
      scope: [...new Set([...SCOPES, ...provider.scopes])].join(' '),
      code_challenge: await calculatePKCECodeChallenge(codeVerifier),
      code_challenge_method: 'S256',
      state,
      nonce,
      // Providers know one or both of these.
      ...(reauthenticates && { prompt: 'login', max_age: '0' }),
    })
    return { body: { url: url.href }, signInToken: browser }
  }

  /** What the provider says about the user, after it has accepted the code. */
  const readUser = async (
    provider: OidcProvider,
    search: string,
    { state, codeVerifier, nonce }: { state: string; codeVerifier: string; nonce: string },
  ) => {
    const { configuration } = await oidc.clients.clientOf(provider)
    const answered = new URL(redirectUriOf(oidc.publicUrl, provider.id))
    answered.search = search
    const tokens = await authorizationCodeGrant(configuration, answered, {
      expectedState: state,
      expectedNonce: nonce,
      pkceCodeVerifier: codeVerifier,
      idTokenExpected: true,
    })
    const claims = tokens.claims()
    if (!claims) throw new Error('the provider sent no ID token')
    const hasUserInfo = configuration.serverMetadata().userinfo_endpoint !== undefined
    if (claims.email !== undefined || !hasUserInfo) return readClaims(claims, provider.groupsClaim)
    const info = await fetchUserInfo(configuration, tokens.access_token, claims.sub)
    return readClaims({ ...info, ...claims }, provider.groupsClaim)
  }

  const isSessionOf = (session: Session | undefined, sessionId: string): session is Session =>
    session?.kind === 'session' && session.id === sessionId

  type Outcome = SignInResult & { next?: string | null; purpose: Purpose }

  const answerOf = async (request: HttpRequest): Promise<Outcome> => {
    const { id: providerId = '' } = request.params
    const client = clientOf(request)
    try {
      await accountLimits.countSignIn(client.address)
    } catch (error) {
      if (error instanceof AppError && error.code === 'rate_limited')
        return { failure: 'rate_limited', purpose: 'sign-in' }
      throw error
    }
    const search = queryTextOf(request.url)
    const state = new URLSearchParams(search).get('state') ?? ''
    const begun = UUID.test(providerId)
      ? await pending.claim(providerId, state, signInTokenOf(request))
      : undefined
    if (!begun) return { failure: 'expired', purpose: 'sign-in' }
    clearSignInCookie(request)
    const rest = { next: begun.next, purpose: purposeOf(begun) }
    const provider = await db.prisma.oidcProvider.findUnique({ where: { id: providerId } })
    if (!provider) return { failure: 'expired', ...rest }
    const user = await readUser(provider, search, { state, ...begun }).catch((error: unknown) => error)
    if (user instanceof Error) {
      log.warn({ err: withoutTokens(user), providerId, requestId: request.id }, 'OIDC sign-in failed')
      return { failure: failureOf(user), ...rest }
    }
    const known = user as Awaited<ReturnType<typeof readUser>>
    try {
      if (begun.sessionId !== null) {
        const session = await findSession(sessions, request)
        if (!isSessionOf(session, begun.sessionId)) return { failure: 'session_ended', ...rest }
        if (!begun.reauthenticates) return { ...(await finish.link(provider, known, session)), ...rest }
        const proved = await finish.prove(provider, known, session, begun.startedAt)
        if (!('failure' in proved)) await sessions.verify(session.id)
        return { ...proved, ...rest }
      }
      const result = await finish.signIn(provider, known)
      if ('failure' in result) return { ...result, ...rest }
      const token = await sessions.startOfIdentity(result.identityId, known, client)
      if (token === undefined) return { failure: 'expired', ...rest }
      setSessionCookie(request, token)
      return { ...result, ...rest }
    } catch (error) {
      if (error instanceof AppError && error.code === 'unprocessable')
        return { failure: 'member_quota', ...rest }
      throw error
    }
  }

  return [
    accountRoutes.open(findOidcProviders, async ({ query, client }) => {
      await accountLimits.countSignIn(client.address)
      const domain = parseDomain(query.domain)
      const data = domain
        ? await db.prisma.oidcProvider.findMany({
            where: { tenant: { domains: { some: { domain, verifiedAt: { not: null } } } } },
            select: { id: true, name: true },
            orderBy: { id: 'asc' },
          })
        : []
      return { body: { data } }
    }),

    accountRoutes.open(startOidcSignIn, async ({ body: { providerId, next }, client }) => {
      await accountLimits.countSignIn(client.address)
      return begin(providerId, { next })
    }),

    accountRoutes.signedIn(linkIdentity, async ({ session, body: { providerId, next }, client }) => {
      await accountLimits.countSignIn(client.address)
      return begin(providerId, { next, sessionId: session.id })
    }),

    accountRoutes.signedIn(reauthenticateWithProvider, async ({ session: { id, identityId }, client }) => {
      if (identityId === null)
        throw unprocessable(
          '',
          'provider_session',
          'needs a session that began with a provider; use POST /api/auth/reauthenticate',
        )
      await accountLimits.countSignIn(client.address)
      const { providerId } = requireFound(
        await db.prisma.userIdentity.findUnique({ where: { id: identityId } }),
      )
      return begin(providerId, { sessionId: id, reauthenticates: true })
    }),

    guardedRoute(finishOidcSignIn, allowAnyone, async (request): Promise<Reply> => {
      const { purpose, next, ...result } = await answerOf(request)
      const { userId, changedProjects = [] } = result
      if (userId !== undefined) {
        const client = clientOf(request)
        if (!('failure' in result))
          await auditLog.recordOfUser(userId, { operation: OPERATIONS[purpose], client })
        const actor = { kind: 'user' as const, id: userId }
        const resourceId = userId
        for (const projectId of changedProjects)
          await auditLog.record(projectId, { actor, operation: MAPPED, resourceId, client })
      }
      const pages = PAGES[purpose]
      const page = 'failure' in result ? `${pages.failed}?failure=${result.failure}` : pages.done
      const location = next
        ? `${page}${page.includes('?') ? '&' : '?'}next=${encodeURIComponent(next)}`
        : page
      return { status: 303, headers: { Location: location, 'Cache-Control': 'no-store' } }
    }),
  ]
}

// The state in the query and the cookie are checked with the rest.
const allowAnyone = async (): Promise<void> => {}

/** The operation in the audit log of a project whose membership a provider's groups changed. */
const MAPPED = 'applyRoleMappings'

/** What a browser is at a provider for. */
type Purpose = 'sign-in' | 'link' | 'reauthentication'

const purposeOf = ({ sessionId, reauthenticates }: Pick<Begun, 'sessionId' | 'reauthenticates'>): Purpose => {
  if (sessionId === null) return 'sign-in'
  return reauthenticates ? 'reauthentication' : 'link'
}

const OPERATIONS: Readonly<Record<Purpose, string>> = {
  'sign-in': finishOidcSignIn.id,
  link: linkIdentity.id,
  reauthentication: reauthenticateWithProvider.id,
}

const PAGES: Readonly<Record<Purpose, { done: string; failed: string }>> = {
  'sign-in': { done: '/console/signed-in', failed: '/console/sign-in' },
  link: { done: '/console/signed-in', failed: '/console/link-failed' },
  reauthentication: { done: '/console/proved', failed: '/console/proof-failed' },
}

const failureOf = (error: Error): SignInFailure => {
  if (error instanceof AuthorizationResponseError && error.error === 'access_denied') return 'denied'
  for (let cause: unknown = error; cause instanceof Error; cause = cause.cause) {
    const { code, name } = cause as { code?: unknown; name: string }
    if (name === 'TimeoutError' || name === 'AbortError' || /^E[A-Z]+$/.test(`${code}`))
      return 'provider_unavailable'
  }
  return 'provider_refused'
}

// The cause of an error may hold the provider's answer with its tokens.
const withoutTokens = ({ name, message, ...rest }: Error & { code?: unknown }) => ({
  type: name,
  message: message.slice(0, 300),
  code: rest.code,
})

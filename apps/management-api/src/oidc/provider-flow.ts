import {
  authorizationCodeGrant,
  buildAuthorizationUrl,
  calculatePKCECodeChallenge,
  fetchUserInfo,
  randomNonce,
  randomPKCECodeVerifier,
} from 'openid-client'
import { requireFound } from '../http/validation.ts'
import type { ManagementDeps } from '../management-deps.ts'
import { readClaims } from './claims.ts'
import { nextPage } from './next-page.ts'
import type { OidcDeps } from './oidc-deps.ts'
import type { PendingSignIns } from './pending-sign-in-queries.ts'
import { type OidcProvider, providerUnavailable } from './provider-clients.ts'

const SCOPES = ['openid', 'email', 'profile']

/** The address to which a provider sends browsers back. It differs by provider, so that none can answer for another. */
export const redirectUriOf = (publicUrl: string, providerId: string): string =>
  `${publicUrl}/api/auth/oidc/${providerId}/callback`

type ProviderFlowDeps = Pick<ManagementDeps, 'db'> & { oidc: OidcDeps; pending: PendingSignIns }

/** Where a sign-in goes on: a page of the console, or the session that it is for. */
type Purpose = { next?: string | undefined; sessionId?: string; reauthenticates?: boolean }

/** The requests to a provider: authorization code flow with PKCE, state and nonce. */
export const createProviderFlow = ({ db, oidc, pending }: ProviderFlowDeps) => {
  /** Begins a sign-in. The browser goes to `url`, and proves with `signInToken` that it began it. */
  const begin = async (providerId: string, { next, sessionId, reauthenticates = false }: Purpose) => {
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

  return { begin, readUser }
}

export type ProviderFlow = ReturnType<typeof createProviderFlow>
/** What a provider says about a user. */
export type ProviderUser = Awaited<ReturnType<ProviderFlow['readUser']>>

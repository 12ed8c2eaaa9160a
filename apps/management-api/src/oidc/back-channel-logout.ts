import { AppError } from '@waymark/contracts/app-error'
import { endOidcSessions } from '@waymark/contracts/http/oidc'
import { clientNetworkOf } from '@waymark/domain/enrichment'
import { guardedRoute, type HttpRequest, type Route } from '@waymark/service-kit'
import { type JWTPayload, jwtVerify } from 'jose'
import { clientOf, readParts } from '../http/request-parts.ts'
import { requireAllowed } from '../http/require-allowed.ts'
import { UUID } from '../http/validation.ts'
import type { ManagementDeps } from '../management-deps.ts'
import { isStorableId } from './claims.ts'
import { endProviderSessions, rememberToken } from './logout-queries.ts'
import type { OidcDeps } from './oidc-deps.ts'
import { type OidcProvider, providerUnavailable } from './provider-clients.ts'

const EVENT = 'http://schemas.openid.net/event/backchannel-logout'
const MAX_BODY_BYTES = 16 * 1024
const PER_MINUTE = 600
const MINUTE_MS = 60_000
/** How old a token may be, and how long its id is kept. */
const MAX_AGE_S = 600
const CLOCK_TOLERANCE_S = 60
// No `none` and no shared secrets.
const ALGORITHMS = ['RS256', 'RS384', 'RS512', 'PS256', 'PS384', 'PS512', 'ES256', 'ES384', 'ES512', 'EdDSA']

/** OpenID Connect Back-Channel Logout 1.0: a provider ends the sessions of a user, or one of them. */
export const backChannelLogoutRoute = ({
  oidc,
  db,
  clock,
  rateLimiter,
  auditLog,
}: ManagementDeps & { oidc: OidcDeps }): Route => {
  const verify = async (provider: OidcProvider, token: string): Promise<LogoutToken> => {
    const { configuration, keys } = await oidc.clients.clientOf(provider).catch((error) => {
      throw providerUnavailable(error)
    })
    const { payload } = await jwtVerify(token, keys, {
      issuer: configuration.serverMetadata().issuer,
      audience: provider.clientId,
      algorithms: ALGORITHMS,
      maxTokenAge: MAX_AGE_S,
      clockTolerance: CLOCK_TOLERANCE_S,
      currentDate: new Date(clock()),
    }).catch(() => {
      throw refused('is not signed by the provider for this client, or has expired')
    })
    return requireLogout(payload)
  }

  return guardedRoute(endOidcSessions, limitByAddress(rateLimiter), async (request) => {
    const { id = '' } = request.params
    const provider = UUID.test(id) && (await db.prisma.oidcProvider.findUnique({ where: { id } }))
    await readParts(endOidcSessions, request)
    const text = new URLSearchParams(await readForm(request)).get('logout_token')
    if (!provider || text === null) throw refused('is missing, or the provider does not exist')
    const token = await verify(provider, text)
    const expiresAt = new Date(clock() + (MAX_AGE_S + 2 * CLOCK_TOLERANCE_S) * 1_000)
    const userIds = await db.transaction(async (tx) => {
      if (!(await rememberToken(tx, provider.id, token.jti, expiresAt))) throw refused('was used')
      return endProviderSessions(tx, provider.id, token)
    })
    const client = clientOf(request)
    for (const userId of userIds)
      await auditLog.recordOfUser(userId, { operation: endOidcSessions.id, resourceId: provider.id, client })
    return { status: 200, headers: { 'Cache-Control': 'no-store' } }
  })
}

type LogoutToken = { jti: string; subject: string | null; sessionId: string | null }

const requireLogout = ({ jti, sub, sid, events, nonce }: JWTPayload): LogoutToken => {
  const isLogout = typeof events === 'object' && events !== null && EVENT in events
  const subject = typeof sub === 'string' ? sub : null
  const sessionId = typeof sid === 'string' ? sid : null
  if (!isLogout || nonce !== undefined || typeof jti !== 'string' || (subject ?? sessionId) === null)
    throw refused('is not a log-out token with jti, and sub or sid')
  if ([subject, sessionId].some((id) => id !== null && !isStorableId(id)))
    throw refused('has a sub or sid that is not 1 to 255 characters without control characters')
  return { jti, subject, sessionId }
}

const refused = (why: string): AppError => new AppError('bad_request', `logout_token ${why}`)

const limitByAddress = (rateLimiter: ManagementDeps['rateLimiter']) => (request: HttpRequest) =>
  requireAllowed(rateLimiter, {
    bucket: 'oidc-logout',
    key: clientNetworkOf(request.ip),
    limit: PER_MINUTE,
    windowMs: MINUTE_MS,
    message: 'Too many log-out tokens',
  })

const readForm = async ({ message }: HttpRequest): Promise<string> => {
  const chunks: Buffer[] = []
  let bytes = 0
  for await (const chunk of message) {
    bytes += chunk.length
    if (bytes > MAX_BODY_BYTES) throw refused(`and the body are larger than ${MAX_BODY_BYTES} bytes`)
    chunks.push(chunk)
  }
  return Buffer.concat(chunks).toString()
}

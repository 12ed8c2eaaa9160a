import { AppError } from '@waymark/contracts/app-error'
import { missingCredentials } from '@waymark/contracts/http/operation'
import {
  CHALLENGE_COOKIE,
  LOCAL_CHALLENGE_COOKIE,
  LOCAL_SESSION_COOKIE,
  LOCAL_SIGN_IN_COOKIE,
  SESSION_COOKIE,
  SIGN_IN_COOKIE,
} from '@waymark/contracts/http/session-cookie'
import { accessTokenInHeaders, type HttpRequest, protocolOf, requestHostOf } from '@waymark/service-kit'
import { parseCookie, type SerializeOptions, stringifySetCookie } from 'cookie'
import { CHALLENGE_MS, SESSION_MS, type Session, type Sessions } from '../accounts/session-queries.ts'

const SAFE_METHODS = new Set(['GET', 'HEAD', 'OPTIONS'])
const LOCAL = /^(?:localhost|[\w.-]+\.localhost|127(?:\.\d{1,3}){3}|\[::1\])$/i
const PORT = /:[^\]]*$/
const SESSION = { secure: SESSION_COOKIE, local: LOCAL_SESSION_COOKIE }
const CHALLENGE = { secure: CHALLENGE_COOKIE, local: LOCAL_CHALLENGE_COOKIE }
const SIGN_IN = { secure: SIGN_IN_COOKIE, local: LOCAL_SIGN_IN_COOKIE }

/**
 * The session of a request: that of its access token, which browsers do not send by themselves, else that of its cookie.
 * Undefined when there is none, or when the access token is not valid.
 * @throws AppError forbidden when another site's page may have sent the request
 */
export const findSession = async (sessions: Sessions, request: HttpRequest): Promise<Session | undefined> => {
  const accessToken = accessTokenInHeaders(request)
  if (accessToken !== undefined) return sessions.findAccessToken(accessToken)
  const token = sessionTokenOf(request)
  const session = await sessions.find(token)
  if (!session) return undefined
  requireSameOrigin(request)
  if (session.renewed) setSessionCookie(request, token)
  return session
}

/** As `findSession`. @throws AppError unauthorized when there is none */
export const requireSession = async (sessions: Sessions, request: HttpRequest): Promise<Session> => {
  const session = await findSession(sessions, request)
  if (!session) throw new AppError('unauthorized', missingCredentials('session'))
  return session
}

/** @throws AppError forbidden for an access token */
export const refuseAccessToken = ({ kind }: Session): void => {
  if (kind === 'access-token')
    throw new AppError('forbidden', 'An access token does not allow this; sign in with a session')
}

/**
 * Prevents CSRF: a request that changes something needs an `Origin` with the host that it was sent to, and with HTTPS if
 * that is used. Trusted proxies report host and scheme.
 * @throws AppError forbidden
 */
const requireSameOrigin = (request: HttpRequest): void => {
  if (SAFE_METHODS.has(request.method) || isSameOrigin(request)) return
  throw new AppError('forbidden', 'The Origin header must be that of this server')
}

/** Like `requireSameOrigin`, for requests without a cookie: without an `Origin` they do not come from a page. */
export const refuseOtherOrigin = (request: HttpRequest): void => {
  if (request.headers.origin !== undefined) requireSameOrigin(request)
}

const isSameOrigin = (request: HttpRequest): boolean => {
  const origin = URL.parse(request.headers.origin ?? '')
  const own = URL.parse(`${protocolOf(request)}://${requestHostOf(request) ?? ''}`)
  if (!origin || !own || !/^https?:$/.test(origin.protocol)) return false
  // Behind an untrusted proxy that terminates TLS, the scheme is unknown and only hosts are compared.
  return own.protocol === 'https:' ? origin.origin === own.origin : origin.host === own.host
}

/** The token that a request's cookie carries; empty when there is none. */
const sessionTokenOf = (request: HttpRequest): string =>
  parseCookie(request.headers.cookie ?? '')[cookieFor(request).name] ?? ''

/** Sets the session cookie, for as long as an unused session lasts. */
export const setSessionCookie = (request: HttpRequest, token: string): void =>
  addCookie(request, token, { maxAge: SESSION_MS / 1000, expires: new Date(Date.now() + SESSION_MS) })

/** Deletes the session cookie. */
export const clearSessionCookie = (request: HttpRequest): void =>
  addCookie(request, '', { expires: new Date(1) })

/** The token of a sign-in that waits for its second factor; empty when there is none. */
export const challengeTokenOf = (request: HttpRequest): string =>
  parseCookie(request.headers.cookie ?? '')[cookieFor(request, CHALLENGE).name] ?? ''

/** Keeps a sign-in that waits for its second factor in the browser. */
export const setChallengeCookie = (request: HttpRequest, token: string): void =>
  addCookie(request, token, { maxAge: CHALLENGE_MS / 1000, sameSite: 'strict' }, CHALLENGE)

/** Deletes what `setChallengeCookie` sets. */
export const clearChallengeCookie = (request: HttpRequest): void =>
  addCookie(request, '', { expires: new Date(1) }, CHALLENGE)

/** How long a browser may be at a provider, in s. */
const SIGN_IN_S = 600

/** Sets the cookie that binds a sign-in with a provider to this browser. */
export const setSignInCookie = (request: HttpRequest, token: string): void =>
  addCookie(request, token, { maxAge: SIGN_IN_S }, SIGN_IN)

/** Deletes the cookie of a sign-in with a provider. */
export const clearSignInCookie = (request: HttpRequest): void =>
  addCookie(request, '', { expires: new Date(1) }, SIGN_IN)

/** The token of the sign-in that began in this browser; empty when there is none. */
export const signInTokenOf = (request: HttpRequest): string =>
  parseCookie(request.headers.cookie ?? '')[cookieFor(request, SIGN_IN).name] ?? ''

const addCookie = (
  request: HttpRequest,
  value: string,
  lifetime: SerializeOptions,
  names = SESSION,
): void => {
  const { name, options } = cookieFor(request, names)
  const cookie = stringifySetCookie(name, value, { ...options, ...lifetime })
  const { 'Set-Cookie': others = [] } = request.replyHeaders
  request.replyHeaders['Set-Cookie'] = [others, cookie].flat()
}

/**
 * The cookie's name and options. Browsers refuse secure cookies without HTTPS, so localhost uses another name. Other hosts
 * do not accept that name, which pages of a sibling domain could set.
 */
const cookieFor = (request: HttpRequest, names = SESSION): { name: string; options: SerializeOptions } => {
  const host = (requestHostOf(request) ?? '').replace(PORT, '')
  const local = protocolOf(request) !== 'https' && LOCAL.test(host)
  return {
    name: local ? names.local : names.secure,
    options: { httpOnly: true, sameSite: 'lax', path: '/', secure: !local },
  }
}

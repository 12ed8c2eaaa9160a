import { AppError, LOCAL_SESSION_COOKIE, missingCredentials, SESSION_COOKIE } from '@waymark/contracts'
import { type HttpRequest, hostOf, protocolOf } from '@waymark/service-kit'
import { parseCookie, type SerializeOptions, stringifySetCookie } from 'cookie'
import { SESSION_MS, type Session, type Sessions } from '../accounts/sessions.ts'

const SAFE_METHODS = new Set(['GET', 'HEAD', 'OPTIONS'])
const LOCAL = /^(?:localhost|[\w.-]+\.localhost|127(?:\.\d{1,3}){3}|\[::1\])$/i
const PORT = /:[^\]]*$/

/**
 * The session of a request's cookie; undefined when there is none.
 * @throws AppError forbidden when another site's page may have sent it
 */
export const findSession = async (sessions: Sessions, request: HttpRequest): Promise<Session | undefined> => {
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

/**
 * Refuses what another site's page may have sent with a cookie that the browser added by itself: a request that
 * changes something needs an `Origin` with the host that it was sent to, and with HTTPS where that is used.
 * Proxies that are trusted say which host and scheme those were.
 * @throws AppError forbidden
 */
export const requireSameOrigin = (request: HttpRequest): void => {
  if (SAFE_METHODS.has(request.method) || isSameOrigin(request)) return
  throw new AppError('forbidden', 'The Origin header must be that of this server')
}

/** As `requireSameOrigin`, for a request that needs no cookie: one without an `Origin` comes from no page. */
export const refuseOtherOrigin = (request: HttpRequest): void => {
  if (request.headers.origin !== undefined) requireSameOrigin(request)
}

const isSameOrigin = (request: HttpRequest): boolean => {
  const origin = URL.parse(request.headers.origin ?? '')
  const own = URL.parse(`${protocolOf(request)}://${hostOf(request) ?? ''}`)
  if (!origin || !own || !/^https?:$/.test(origin.protocol)) return false
  // A proxy that ends TLS and is not trusted leaves us with http; then the host has to do.
  return own.protocol === 'https:' ? origin.origin === own.origin : origin.host === own.host
}

/** The token that a request's cookie carries; empty when there is none. */
export const sessionTokenOf = (request: HttpRequest): string =>
  parseCookie(request.headers.cookie ?? '')[cookieFor(request).name] ?? ''

/** Gives the browser a session, for as long as it lasts when it is not used. */
export const setSessionCookie = (request: HttpRequest, token: string): void =>
  addCookie(request, token, { maxAge: SESSION_MS / 1000, expires: new Date(Date.now() + SESSION_MS) })

/** Takes the session from the browser. */
export const clearSessionCookie = (request: HttpRequest): void =>
  addCookie(request, '', { expires: new Date(1) })

const addCookie = (request: HttpRequest, value: string, lifetime: SerializeOptions): void => {
  const { name, options } = cookieFor(request)
  const cookie = stringifySetCookie(name, value, { ...options, ...lifetime })
  const { 'Set-Cookie': others = [] } = request.replyHeaders
  request.replyHeaders['Set-Cookie'] = [others, cookie].flat()
}

/**
 * Which cookie is meant. Without HTTPS browsers keep no secure one, so that this machine, and nothing else, may go
 * without; the other name is not even read elsewhere, since pages of a neighbouring host could set it.
 */
const cookieFor = (request: HttpRequest): { name: string; options: SerializeOptions } => {
  const host = (hostOf(request) ?? '').replace(PORT, '')
  const local = protocolOf(request) !== 'https' && LOCAL.test(host)
  return {
    name: local ? LOCAL_SESSION_COOKIE : SESSION_COOKIE,
    options: { httpOnly: true, sameSite: 'lax', path: '/', secure: !local },
  }
}

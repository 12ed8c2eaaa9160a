import { LOCAL_SESSION_COOKIE, SESSION_COOKIE } from '@waymark/contracts'
import { parseCookie } from 'cookie'
import type { CookieOptions, Request, Response } from 'express'
import { SESSION_MS } from './sessions.ts'

const LOCAL = /^(?:localhost|[\w.-]+\.localhost|127(?:\.\d{1,3}){3}|\[::1\])$/i

/** The token that a request's cookie carries; empty when there is none. */
export const sessionTokenOf = (req: Request): string =>
  parseCookie(req.get('Cookie') ?? '')[cookieFor(req).name] ?? ''

/** Gives the browser a session, for as long as it lasts when it is not used. */
export const setSessionCookie = (req: Request, res: Response, token: string): void => {
  const { name, options } = cookieFor(req)
  res.cookie(name, token, { ...options, maxAge: SESSION_MS })
}

/** Takes the session from the browser. */
export const clearSessionCookie = (req: Request, res: Response): void => {
  const { name, options } = cookieFor(req)
  res.clearCookie(name, options)
}

/**
 * Which cookie is meant. Without HTTPS browsers keep no secure one, so that this machine, and nothing else, may go
 * without; the other name is not even read elsewhere, since pages of a neighbouring host could set it.
 */
const cookieFor = (req: Request): { name: string; options: CookieOptions } => {
  const local = !req.secure && LOCAL.test(req.hostname ?? '')
  return {
    name: local ? LOCAL_SESSION_COOKIE : SESSION_COOKIE,
    options: { httpOnly: true, sameSite: 'lax', path: '/', secure: !local },
  }
}

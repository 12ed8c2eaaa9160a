import { AppError } from '@waymark/contracts'
import type { Request, Response } from 'express'
import { requireSameOrigin } from './same-origin.ts'
import { sessionTokenOf, setSessionCookie } from './session-cookie.ts'
import type { Session, Sessions } from './sessions.ts'

/**
 * The session of a request's cookie; undefined when there is none.
 * @throws AppError forbidden when another site's page may have sent it
 */
export const findSession = async (
  sessions: Sessions,
  req: Request,
  res: Response,
): Promise<Session | undefined> => {
  const token = sessionTokenOf(req)
  const session = await sessions.find(token)
  if (!session) return undefined
  requireSameOrigin(req)
  if (session.renewed) setSessionCookie(req, res, token)
  return session
}

/** As `findSession`. @throws AppError unauthorized when there is none */
export const requireSession = async (sessions: Sessions, req: Request, res: Response): Promise<Session> => {
  const session = await findSession(sessions, req, res)
  if (!session) throw new AppError('unauthorized', 'Missing or invalid session')
  return session
}

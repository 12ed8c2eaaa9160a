import { type ApiKeyScope, AppError, type Operation } from '@waymark/contracts'
import { allowApiKey, type Platform, type Route } from '@waymark/service-kit'
import type { Request, RequestHandler, Response } from 'express'
import { type Client, clientOf } from './client.ts'
import { type Parts, partsOf, type Reply, readBody, send } from './reply.ts'
import { findSession, requireSession } from './require-session.ts'
import { refuseOtherOrigin } from './same-origin.ts'
import { clearSessionCookie, setSessionCookie } from './session-cookie.ts'
import type { Session, Sessions } from './sessions.ts'

/** What is answered; `token` begins a session in the browser, null ends it. */
export type AccountReply = Reply & { token?: string | null }

type Asked<B, Q> = Parts<B, Q> & { client: Client }
/** Who asks beside a project: somebody signed in, or a key. */
export type Caller = { kind: 'user'; session: Session } | { kind: 'key'; projectId: string }

type Deps = Pick<Platform, 'apiKeys'> & { sessions: Sessions }

/** Makes routes that do not stand below a project. They answer 401 and 403 first, then what is wrong with the request. */
export const createAccountRoutes = ({ apiKeys, sessions }: Deps) => {
  const route = <B, Q>(
    operation: Operation<B, Q>,
    allow: RequestHandler,
    answer: (asked: Asked<B, Q>, req: Request, res: Response) => Promise<AccountReply>,
  ): Route => {
    const reply: RequestHandler = async (req, res) => {
      const asked = { ...partsOf(operation, req), client: clientOf(req, res) }
      const { token, ...replied } = await answer(asked, req, res)
      res.set('Cache-Control', 'no-store')
      if (token === null) clearSessionCookie(req, res)
      else if (token !== undefined) setSessionCookie(req, res, token)
      send(res, replied)
    }
    return { operation, handlers: [allow, ...readBody(operation), reply] }
  }

  return {
    /** For anyone, except pages of other sites; `findSession` says who is signed in, if anybody is. */
    open: <B, Q>(
      operation: Operation<B, Q, { by: 'anyone' }>,
      answer: (asked: Asked<B, Q>, findSession: () => Promise<Session | undefined>) => Promise<AccountReply>,
    ): Route =>
      route(
        operation,
        (req, _res, next) => {
          refuseOtherOrigin(req)
          next()
        },
        (asked, req, res) => answer(asked, () => findSession(sessions, req, res)),
      ),

    /** For somebody who is signed in. */
    signedIn: <B, Q>(
      operation: Operation<B, Q, { by: 'session' }>,
      answer: (asked: Asked<B, Q> & { session: Session }) => Promise<AccountReply>,
    ): Route =>
      route(
        operation,
        async (req, res, next) => {
          res.locals.session = await requireSession(sessions, req, res)
          next()
        },
        (asked, _req, res) => answer({ ...asked, session: res.locals.session as Session }),
      ),

    /** For somebody who is signed in, or a key with the scope. */
    signedInOrKey: <B, Q>(
      operation: Operation<B, Q, { by: 'session-or-key'; scope: ApiKeyScope }>,
      answer: (asked: Asked<B, Q> & { caller: Caller }) => Promise<AccountReply>,
    ): Route => {
      const find = async (req: Request, res: Response): Promise<Caller> => {
        if (req.get('X-API-Key')) {
          const { projectId } = await allowApiKey(apiKeys, operation.access.scope, req)
          return { kind: 'key', projectId }
        }
        const session = await findSession(sessions, req, res)
        if (!session) throw new AppError('unauthorized', 'Missing or invalid session or API key')
        return { kind: 'user', session }
      }
      return route(
        operation,
        async (req, res, next) => {
          res.locals.caller = await find(req, res)
          next()
        },
        (asked, _req, res) => answer({ ...asked, caller: res.locals.caller as Caller }),
      )
    },
  }
}

export type AccountRoutes = ReturnType<typeof createAccountRoutes>

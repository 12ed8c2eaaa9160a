import type { ApiKeyScope } from '@waymark/contracts/api-key'
import { AppError } from '@waymark/contracts/app-error'
import {
  type Access,
  type AnswerOf,
  type Answers,
  missingCredentials,
  type Operation,
} from '@waymark/contracts/http/operation'
import {
  allowApiKey,
  chargeProject,
  chargeUser,
  guardedRoute,
  type HttpRequest,
  keyInHeaders,
  type Platform,
  type Reply,
  type Route,
} from '@waymark/service-kit'
import type { Session, Sessions } from '../accounts/session-queries.ts'
import { runAsCaller } from './caller-queries.ts'
import { type CheckEffects, createCheckEffects, requireConstantEffects } from './reauthentication.ts'
import { type Client, clientOf, type Parts, readParts } from './request-parts.ts'
import {
  challengeTokenOf,
  clearChallengeCookie,
  clearSessionCookie,
  findSession,
  refuseAccessToken,
  refuseOtherOrigin,
  requireSession,
  setChallengeCookie,
  setSessionCookie,
  setSignInCookie,
} from './session-cookie.ts'

/**
 * The answer; `token` starts a session in the browser, null ends it. `challenge` keeps a sign-in that waits for its second
 * factor, null forgets it.
 */
type AccountReply<Body> = Pick<Reply<Body>, 'status' | 'body'> & {
  token?: string | null
  challenge?: string | null
  /** Binds a sign-in with a provider to the browser. */
  signInToken?: string
}

type Asked<B, Q> = Parts<B, Q> & {
  client: Client
  challenge: string
  /** Call it after a wait that the caller controls. @throws AppError as the request would be refused now */
  allowAgain: () => Promise<void>
}
/** The caller of a route outside of projects: a signed-in user or a key. */
export type Caller = { kind: 'user'; session: Session } | { kind: 'key'; projectId: string }

type Deps = Pick<Platform, 'apiKeys' | 'clock'> & { sessions: Sessions }

/** Creates routes that do not belong to a project. They check the caller (401, 403) before the request. */
export const createAccountRoutes = ({ apiKeys, clock, sessions }: Deps) => {
  const route = <B, Q, C, const N extends Answers>(
    operation: Operation<B, Q, Access, N>,
    allow: (request: HttpRequest) => Promise<C>,
    answer: (asked: Asked<B, Q>, caller: C, request: HttpRequest) => Promise<AccountReply<AnswerOf<N>>>,
  ): Route =>
    guardedRoute(operation, allow, answerWith(allow, answer), {
      read: (request) => readParts(operation, request),
    })
  const answerWith =
    <B, Q, C>(
      allow: (request: HttpRequest) => Promise<C>,
      answer: (asked: Asked<B, Q>, caller: C, request: HttpRequest) => Promise<AccountReply<unknown>>,
    ) =>
    async (request: HttpRequest, caller: C, parts: Parts<B, Q>): Promise<Reply> => {
      const asked = {
        ...parts,
        client: clientOf(request),
        challenge: challengeTokenOf(request),
        allowAgain: async () => void (await allow(request)),
      }
      const { token, challenge, signInToken, ...reply } = await answer(asked, caller, request)
      if (signInToken !== undefined) setSignInCookie(request, signInToken)
      if (token === null) clearSessionCookie(request)
      else if (token !== undefined) setSessionCookie(request, token)
      if (challenge === null) clearChallengeCookie(request)
      else if (challenge !== undefined) setChallengeCookie(request, challenge)
      return { ...reply, headers: { 'Cache-Control': 'no-store' } }
    }

  return {
    /** For anyone, except pages of other sites; `findSession` resolves to the session, if there is one. */
    open: <B, Q, const N extends Answers>(
      operation: Operation<B, Q, { by: 'anyone' }, N>,
      answer: (
        asked: Asked<B, Q>,
        findSession: () => Promise<Session | undefined>,
      ) => Promise<AccountReply<AnswerOf<N>>>,
    ): Route =>
      route(
        operation,
        async (request) => refuseOtherOrigin(request),
        (asked, _caller, request) => answer(asked, () => findSession(sessions, request)),
      ),

    /** For signed-in users, by a session or by an access token unless the operation refuses those. */
    signedIn: <B, Q, const N extends Answers>(
      operation: Operation<B, Q, { by: 'session'; tokens?: false; providers?: true }, N>,
      answer: (
        asked: Asked<B, Q> & { session: Session; checkEffects: CheckEffects },
      ) => Promise<AccountReply<AnswerOf<N>>>,
    ): Route =>
      route(
        operation,
        async (request) => {
          const session = await requireSession(sessions, request)
          if (operation.access.tokens === false) refuseAccessToken(session)
          if (operation.access.tokens === false && !operation.access.providers) refuseProviderSession(session)
          requireConstantEffects(operation, session, clock())
          chargeUser(session.user.id, workOf(operation))
          return session
        },
        async (asked, session) => {
          const { checkEffects, requireChecked } = createCheckEffects(operation, asked, session, clock)
          const work = () => answer({ ...asked, session, checkEffects })
          const isRead = workOf(operation) === 'read'
          const reply = await (isRead ? work() : runAsCaller({ kind: 'user', session }, work))
          requireChecked()
          return reply
        },
      ),

    /** For signed-in users, and keys with the scope. */
    signedInOrKey: <B, Q, const N extends Answers>(
      operation: Operation<B, Q, { by: 'session-or-key'; scope: ApiKeyScope }, N>,
      answer: (asked: Asked<B, Q> & { caller: Caller }) => Promise<AccountReply<AnswerOf<N>>>,
    ): Route =>
      route(
        operation,
        async (request): Promise<Caller> => {
          if (keyInHeaders(request) !== undefined) {
            const key = await allowApiKey(apiKeys, operation.access.scope, request)
            const { projectId } = key
            chargeProject(key, workOf(operation))
            return { kind: 'key', projectId }
          }
          const session = await findSession(sessions, request)
          if (!session) throw new AppError('unauthorized', missingCredentials('session-or-key'))
          chargeUser(session.user.id, workOf(operation))
          return { kind: 'user', session }
        },
        (asked, caller) => answer({ ...asked, caller }),
      ),
  }
}

/** @throws AppError forbidden for a session that began with a tenant's provider, which might not be the user's own */
export const refuseProviderSession = ({ identityId }: Session): void => {
  if (identityId !== null)
    throw new AppError(
      'forbidden',
      'A session that began with single sign-on does not allow this; sign in with your password',
    )
}

const workOf = ({ method }: { method: string }): 'read' | 'general' => (method === 'get' ? 'read' : 'general')

export type AccountRoutes = ReturnType<typeof createAccountRoutes>

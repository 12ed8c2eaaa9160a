import type { ApiKeyScope } from '@waymark/contracts/api-key'
import { AppError } from '@waymark/contracts/app-error'
import {
  type AnswerOf,
  type Answers,
  keyScopeOf,
  missingCredentials,
  type Operation,
  type ProjectAccess,
} from '@waymark/contracts/http/operation'
import { type ProjectRole, scopeForRole } from '@waymark/contracts/project-role'
import { roleAllows, scopesOfRole } from '@waymark/domain/account'
import {
  allowApiKey,
  chargeProject,
  guardedRoute,
  type HttpRequest,
  keyInHeaders,
  type Platform,
  type Reply,
  type Route,
} from '@waymark/service-kit'
import { actorOf, coversProject, type Session, type Sessions } from '../accounts/session-queries.ts'
import type { AuditLog } from '../audit/audit-log.ts'
import { findMembership } from '../projects/membership-queries.ts'
import { runAsCaller, type WriteCaller } from './caller-queries.ts'
import { matchRequirement, type ProjectReply, taggedReply } from './entity-tag.ts'
import {
  type CheckEffects,
  createCheckEffects,
  requireConstantEffects,
  secondFactorRequired,
} from './reauthentication.ts'
import { clientOf, type Parts, readParts } from './request-parts.ts'
import { findSession, refuseAccessToken } from './session-cookie.ts'
import { UUID } from './validation.ts'

/** The authorized caller. A user's scopes are those of a key with the same rights. */
export type Actor =
  | { kind: 'key'; id: string; tenantId: string; scopes: readonly ApiKeyScope[] }
  | {
      kind: 'user'
      id: string
      /** Of the project. */
      tenantId: string
      role: ProjectRole
      scopes: readonly ApiKeyScope[]
      accessTokenId: string | null
      session: Session
    }

/** An authorized request to a project's resource, with parts that fit the operation's schemas. */
export type ProjectRequest<Body = unknown, Query = unknown> = Parts<Body, Query> & {
  actor: Actor
  request: HttpRequest
  /** Checks again whether the caller may still do this. @throws AppError as the request would be refused now */
  allowAgain: () => Promise<unknown>
  /**
   * Call it before a PATCH or DELETE, with the locked resource as a GET answers it, or with its `version`.
   * @throws AppError precondition_failed when `If-Match` names another version
   */
  requireMatch: (current: unknown) => void
  /** Call it with the locked resource, where the operation declares effects that depend on it. @throws AppError forbidden */
  checkEffects: CheckEffects
}

type ProjectOperation<B, Q, N extends Answers> = Operation<B, Q, ProjectAccess, N>
type Deps = Pick<Platform, 'apiKeys' | 'clock' | 'configChanges' | 'db'> & {
  sessions: Sessions
  auditLog: AuditLog
}

/**
 * Creates routes of a project's resources, for its members by session and for its keys. Checks in this order:
 * - a key: 401, 403 for a missing scope, 404 for another project's key;
 * - a session: 401, 403 for another site's page, 404 for a user who is no member, 403 for a weaker role, 403 for an access
 *   token that the operation refuses, or for a sign-in that is not recent;
 * - the body and the query.
 * Changes are written to the audit log and apply in this process before the answer is sent.
 */
export const createProjectRoute =
  ({ apiKeys, clock, configChanges, db, sessions, auditLog }: Deps) =>
  <B, Q, const N extends Answers>(
    operation: ProjectOperation<B, Q, N>,
    answer: (request: ProjectRequest<B, Q>) => Promise<ProjectReply<AnswerOf<N>>>,
    { maxBodyBytes }: { maxBodyBytes?: number } = {},
  ): Route => {
    const { access } = operation
    const { role: needed } = access
    const isRead: boolean = operation.method === 'get' || operation.readOnly === true
    const work = isRead ? 'read' : 'general'
    const byKey = async (request: HttpRequest): Promise<Actor> => {
      const key = await allowApiKey(apiKeys, scopeForRole[needed], request)
      if (access.keys === false)
        throw new AppError('forbidden', 'Only a member who is signed in may do this, not a key', {
          requiredRole: needed,
        })
      const { id, tenantId, projectId, scopes } = key
      if (request.params.projectId !== projectId) throw new AppError('not_found', 'Not found')
      chargeProject(key, work)
      return { kind: 'key', id, tenantId, scopes }
    }
    const bySession = async (request: HttpRequest): Promise<Actor> => {
      const session = await findSession(sessions, request)
      if (!session) throw new AppError('unauthorized', missingCredentials('project'))
      const { projectId = '' } = request.params
      const member = coversProject(session, projectId) && (await findMember(db, projectId, session.user))
      if (!member) throw new AppError('not_found', 'Not found')
      const { role, tenantId } = member
      chargeProject({ tenantId, projectId }, work)
      if (!roleAllows(role, needed)) throw lacksRole(needed)
      if (operation.access.tokens === false) refuseAccessToken(session)
      requireConstantEffects(operation, session, clock())
      return { ...actorOf(session), tenantId, role, scopes: scopesOfRole(role), session }
    }
    const allow = (request: HttpRequest): Promise<Actor> =>
      keyInHeaders(request) !== undefined ? byKey(request) : bySession(request)

    const callerOf = (actor: Actor, projectId: string): WriteCaller =>
      actor.kind === 'key'
        ? { kind: 'key', id: actor.id, scope: keyScopeOf(access) }
        : { kind: 'user', session: actor.session, member: { projectId, role: actor.role } }

    const answerParts = async (request: HttpRequest, actor: Actor, parts: Parts<B, Q>): Promise<Reply> => {
      const requireMatch = matchRequirement(request.headers['if-match'])
      const allowAgain = () => allow(request)
      const session = actor.kind === 'user' ? actor.session : undefined
      const { checkEffects, requireChecked } = createCheckEffects(operation, parts, session, clock)
      const work = () => answer({ ...parts, actor, request, allowAgain, requireMatch, checkEffects })
      const reply = await (isRead ? work() : runAsCaller(callerOf(actor, parts.projectId), work))
      requireChecked()
      if (!isRead) {
        await auditLog.record(parts.projectId, {
          actor,
          operation: operation.id,
          resourceId: resourceOf(request, reply),
          body: parts.body,
          reason: reply.reason ?? null,
          client: clientOf(request),
        })
        // Later requests must see the change.
        const version = await configChanges.refresh()
        if (version !== undefined) request.replyHeaders['X-Config-Version'] = version
      }
      return taggedReply(request, reply)
    }
    return guardedRoute(operation, allow, answerParts, {
      read: (request) => readParts(operation, request, maxBodyBytes),
    })
  }

export type ProjectRouteFactory = ReturnType<typeof createProjectRoute>

/** 403 for a member whose role is too weak. */
export const lacksRole = (requiredRole: ProjectRole): AppError =>
  new AppError('forbidden', 'Your role in the project does not allow this', { requiredRole })

/**
 * The role of a user in a project; undefined without a membership or a project.
 * @throws AppError forbidden when the tenant requires a second factor and the sign-in had none
 */
export const findRole = async (
  db: Pick<Platform['db'], 'pool'>,
  projectId: string,
  user: Member,
): Promise<ProjectRole | undefined> => (await findMember(db, projectId, user))?.role

type Member = Pick<Session['user'], 'id' | 'meetsSecondFactor'>

const findMember = async (
  db: Pick<Platform['db'], 'pool'>,
  projectId: string,
  user: Member,
): Promise<{ role: ProjectRole; tenantId: string } | undefined> => {
  if (!UUID.test(projectId)) return undefined
  const member = await findMembership(db, projectId, user.id)
  if (member?.requiresSecondFactor && !user.meetsSecondFactor) throw secondFactorRequired()
  return member
}

// The id in the path beside the project's, or that of the created resource.
const resourceOf = ({ params }: HttpRequest, { body }: ProjectReply): string | null => {
  const [named] = Object.entries(params).filter(([name]) => name !== 'projectId')
  if (named) return `${named[1]}`
  const made: unknown = typeof body === 'object' && body !== null ? Reflect.get(body, 'id') : undefined
  return typeof made === 'string' ? made : null
}

import {
  type ApiKeyScope,
  AppError,
  type Operation,
  type ProjectRole,
  projectRoles,
  scopeForRole,
} from '@waymark/contracts'
import { roleAllows, scopesOfRole } from '@waymark/domain'
import { allowApiKey, type Platform, type Route } from '@waymark/service-kit'
import type { Request, RequestHandler, Response } from 'express'
import type { AuditLog } from './audit-log.ts'
import { clientOf } from './client.ts'
import { matchRequirement } from './entity-tag.ts'
import { type Parts, partsOf, readBody } from './reply.ts'
import { findSession } from './require-session.ts'
import { type ProjectReply, sendTagged } from './send-tagged.ts'
import type { Sessions } from './sessions.ts'
import { UUID } from './validation.ts'

/** Who asks, already allowed to. A user's scopes are those of a key that may do as much. */
export type Actor =
  | { kind: 'key'; id: string; scopes: readonly ApiKeyScope[] }
  | { kind: 'user'; id: string; role: ProjectRole; scopes: readonly ApiKeyScope[] }

/** One request to a project's resource, by somebody who may make it, with parts that fit the operation's schemas. */
export type ProjectRequest<Body = unknown, Query = unknown> = Parts<Body, Query> & {
  actor: Actor
  /**
   * To be called with what a PATCH or DELETE is about to change, as a GET would answer it, or as its `version`, and
   * locked in the transaction that changes it.
   * @throws AppError precondition_failed when `If-Match` names another version
   */
  requireMatch: (current: unknown) => void
}

type ProjectOperation<B, Q> = Operation<B, Q, { by: 'project'; role: ProjectRole }>
type Deps = Pick<Platform, 'apiKeys' | 'db'> & { sessions: Sessions; auditLog: AuditLog }

/**
 * Makes routes below a project, for its members by session and for its keys. In this order they answer 401; for a key
 * 403 for a missing scope, then 404 for another project than its own; for a session 403 for another site's page, 404 for
 * a project that the user is no member of, 403 for a weaker role. Both kinds of 404 are as if the project did not exist. Then comes
 * what is wrong with the body and the query, then `answer`. What was changed is written into the project's audit log.
 */
export const createProjectRoute =
  ({ apiKeys, db, sessions, auditLog }: Deps) =>
  <B, Q>(
    operation: ProjectOperation<B, Q>,
    answer: (request: ProjectRequest<B, Q>) => Promise<ProjectReply>,
    { maxBodyBytes }: { maxBodyBytes?: number } = {},
  ): Route => {
    const { role: needed } = operation.access
    const byKey = async (req: Request): Promise<Actor> => {
      const { id, projectId, scopes } = await allowApiKey(apiKeys, scopeForRole[needed], req)
      if (req.params.projectId !== projectId) throw new AppError('not_found', 'Not found')
      return { kind: 'key', id, scopes }
    }
    const bySession = async (req: Request, res: Response): Promise<Actor> => {
      const session = await findSession(sessions, req, res)
      if (!session) throw new AppError('unauthorized', 'Missing or invalid session or API key')
      const role = await findRole(db, `${req.params.projectId}`, session.user.id)
      if (!role) throw new AppError('not_found', 'Not found')
      if (!roleAllows(role, needed)) throw lacksRole(needed)
      return { kind: 'user', id: session.user.id, role, scopes: scopesOfRole(role) }
    }
    const allow: RequestHandler = async (req, res, next) => {
      res.locals.actor = req.get('X-API-Key') ? await byKey(req) : await bySession(req, res)
      next()
    }
    const reply: RequestHandler = async (req, res) => {
      const actor = res.locals.actor as Actor
      const requireMatch = matchRequirement(req.get('If-Match'))
      const request = { ...partsOf(operation, req), actor, requireMatch }
      const replied = await answer(request)
      if (operation.method !== 'get') {
        await auditLog.record(request.projectId, {
          actor,
          operation: operation.id,
          resourceId: resourceOf(req, replied),
          body: request.body,
          client: clientOf(req, res),
        })
      }
      await sendTagged(req, res, replied)
    }
    return { operation, handlers: [allow, ...readBody(operation, maxBodyBytes), reply] }
  }

export type ProjectRouteFactory = ReturnType<typeof createProjectRoute>

/** 403 for a member whose role does not suffice. */
export const lacksRole = (requiredRole: ProjectRole): AppError =>
  new AppError('forbidden', 'This needs a stronger role in the project', { requiredRole })

/** The role of a user in a project; undefined when they are no member, or there is no such project. */
export const findRole = async (
  { prisma }: Pick<Platform['db'], 'prisma'>,
  projectId: string,
  userId: string,
): Promise<ProjectRole | undefined> => {
  if (!UUID.test(projectId)) return undefined
  const member = await prisma.projectMember.findFirst({
    where: { projectId, userId, project: { archivedAt: null } },
  })
  return projectRoles.find((role) => role === member?.role)
}

// What the path names beside the project, or what was made just now.
const resourceOf = ({ params }: Request, { body }: ProjectReply): string | null => {
  const [named] = Object.entries(params).filter(([name]) => name !== 'projectId')
  if (named) return `${named[1]}`
  const made: unknown = typeof body === 'object' && body !== null ? Reflect.get(body, 'id') : undefined
  return typeof made === 'string' ? made : null
}

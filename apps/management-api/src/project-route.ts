import {
  type ApiKeyScope,
  AppError,
  type Operation,
  type ProjectRole,
  scopeForRole,
} from '@waymark/contracts'
import { apiKeyOf, bodyOf, jsonBody, type Platform, type Route, requireApiKey } from '@waymark/service-kit'
import type { RequestHandler } from 'express'
import { requireValid } from './validation.ts'

/** Bytes of one request body. */
const MAX_BODY_BYTES = 256 * 1024

/** Who asks, already allowed to. */
export type Actor = { kind: 'key'; id: string; scopes: readonly ApiKeyScope[] }

/** One request to a project's resource, by somebody who may make it, with parts that fit the operation's schemas. */
export type ProjectRequest<Body = unknown, Query = unknown> = {
  projectId: string
  actor: Actor
  body: Body
  query: Query
  /** The part of the path named `id`, if there is one. */
  id: string
  /** All parts of the path, by their names. */
  params: Readonly<Record<string, string>>
}

/** What is answered: 200 unless said, and no body at all for 204. */
export type ProjectReply = { status?: number; body?: unknown }

type ProjectOperation<B, Q> = Operation<B, Q, { by: 'project'; role: ProjectRole }>

/**
 * Makes routes below a project. In this order they answer 401 for a bad key, 403 for a missing scope, 404 for a
 * project that is not the key's (as if it did not exist), then what is wrong with the body and the query, then `answer`.
 */
export const createProjectRoute =
  ({ apiKeys }: Pick<Platform, 'apiKeys'>) =>
  <B, Q>(
    operation: ProjectOperation<B, Q>,
    answer: (request: ProjectRequest<B, Q>) => Promise<ProjectReply>,
  ): Route => {
    const { body, query, access } = operation
    const scope = scopeForRole[access.role]
    if (scope === null) throw new Error(`${operation.id} is for owners, and no key is one`)
    const reply: RequestHandler = async (req, res) => {
      const { projectId, id, scopes } = apiKeyOf(res)
      const request = {
        projectId,
        actor: { kind: 'key', id, scopes } as const,
        body: body && requireValid(body.validator, bodyOf(req).value),
        query: query && requireValid(query.validator, { ...req.query }),
        id: typeof req.params.id === 'string' ? req.params.id : '',
        params: req.params,
      }
      // Where the operation has no schema for a part, its type is unknown, and undefined will do.
      const { status = 200, body: answered } = await answer(request as ProjectRequest<B, Q>)
      res.status(status)
      if (answered === undefined) res.end()
      else res.json(answered)
    }
    return {
      operation,
      handlers: [
        requireApiKey(apiKeys, scope),
        (req, res, next) => {
          if (req.params.projectId !== apiKeyOf(res).projectId) throw new AppError('not_found', 'Not found')
          next()
        },
        ...(body ? jsonBody(MAX_BODY_BYTES) : []),
        reply,
      ],
    }
  }

export type ProjectRouteFactory = ReturnType<typeof createProjectRoute>

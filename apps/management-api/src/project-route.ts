import { type ApiKeyScope, AppError } from '@waymark/contracts'
import { apiKeyOf, bodyOf, jsonBody, type Platform, type Route, requireApiKey } from '@waymark/service-kit'
import type { Request } from 'express'

/** Bytes of one request body. */
const MAX_BODY_BYTES = 256 * 1024

/** One request to a project's resource, its key already allowed to make it. */
export type ProjectRequest = {
  projectId: string
  /** Scopes of the key that asks. */
  scopes: readonly ApiKeyScope[]
  /** The parsed body of a POST, PUT or PATCH. */
  body: unknown
  query: Request['query']
  /** The part of the path after the resource's name, if the route has one. */
  id: string
}

/** What is answered: 200 unless said, and no body at all for 204. */
export type ProjectReply = { status?: number; body?: unknown }

type ProjectEndpoint = {
  method: Route['method']
  /** Below `/api/projects/{projectId}/`. */
  path: string
  scope: ApiKeyScope
  answer: (request: ProjectRequest) => Promise<ProjectReply>
}

/**
 * A route below a project. In this order it answers 401 for a bad key, 403 for a missing scope, 404 for a project that
 * is not the key's (as if it did not exist), then what is wrong with the body, then `answer`.
 */
export const projectRoute = (
  apiKeys: Platform['apiKeys'],
  { method, path, scope, answer }: ProjectEndpoint,
): Route => {
  const hasBody = method === 'post' || method === 'put' || method === 'patch'
  return {
    method,
    path: `/api/projects/:projectId/${path}`,
    handlers: [
      requireApiKey(apiKeys, scope),
      (req, res, next) => {
        if (req.params.projectId !== apiKeyOf(res).projectId) throw new AppError('not_found', 'Not found')
        next()
      },
      ...(hasBody ? jsonBody(MAX_BODY_BYTES) : []),
      async (req, res) => {
        const { projectId, scopes } = apiKeyOf(res)
        const body = hasBody ? bodyOf(req).value : undefined
        const id = typeof req.params.id === 'string' ? req.params.id : ''
        const reply = await answer({ projectId, scopes, body, query: req.query, id })
        res.status(reply.status ?? 200)
        if (reply.body === undefined) res.end()
        else res.json(reply.body)
      },
    ],
  }
}

import type { ApiKeyScope, Operation } from '@waymark/contracts'
import type { ApiKeys } from '@waymark/project-config'
import type { RequestHandler } from 'express'
import { apiKeyOf, type ReadKey, requireApiKey } from './authenticate.ts'
import { jsonBody } from './json-body.ts'
import type { LimitRequests } from './rate-limit.ts'
import type { Route } from './route.ts'

type KeyOperation = Operation<unknown, unknown, { by: 'key'; scope: ApiKeyScope }>
/** `limitRequests` belongs to every operation that is documented as limited; `maxBodyBytes` to one with a body. */
type KeyRouteOptions = {
  apiKeys: ApiKeys
  limitRequests?: LimitRequests
  maxBodyBytes?: number
  readKey?: ReadKey
  /** In place of reading JSON of at most `maxBodyBytes`. */
  readBody?: RequestHandler[]
}

/**
 * A route for whoever holds an API key. In this order it answers 401 for a bad key, 403 for a missing scope,
 * 429 for too many requests, then what is wrong with the body as JSON, and then `answer`.
 */
export const keyRoute = (
  operation: KeyOperation,
  { apiKeys, limitRequests, maxBodyBytes, readKey, readBody }: KeyRouteOptions,
  answer: RequestHandler,
): Route => ({
  operation,
  handlers: [
    requireApiKey(apiKeys, operation.access.scope, readKey),
    ...(limitRequests ? [limitBy(limitRequests)] : []),
    ...(readBody ?? (maxBodyBytes === undefined ? [] : jsonBody(maxBodyBytes))),
    answer,
  ],
})

/** The same in Express. */
export const limitBy =
  (limitRequests: LimitRequests): RequestHandler =>
  async (req, res, next) => {
    const headers: string[] = []
    try {
      await limitRequests(apiKeyOf(res), req.ip ?? '', headers)
    } finally {
      for (let at = 0; at < headers.length; at += 2) res.set(headers[at] ?? '', headers[at + 1])
    }
    next()
  }

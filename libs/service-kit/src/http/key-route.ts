import type { ApiKeyScope, Operation } from '@waymark/contracts'
import type { ApiKey, ApiKeys } from '@waymark/project-config'
import { allowApiKey, allowBeacon, type Sender, withoutKey } from './authenticate.ts'
import { isText, type JsonBody, type JsonBodyOptions, noBody, readJsonBody } from './json-body.ts'
import type { LimitRequests } from './rate-limit.ts'
import type { Reply } from './reply.ts'
import { type HttpRequest, requireKnownQuery } from './request.ts'
import { guardedRoute, type Route } from './router.ts'

type KeyOperation = Operation<unknown, unknown, { by: 'key'; scope: ApiKeyScope }>

/** `limitRequests` belongs to every operation that is documented as limited; `maxBodyBytes` to one with a body. */
type KeyRouteOptions = Pick<JsonBodyOptions, 'numbers'> & {
  apiKeys: ApiKeys
  limitRequests?: LimitRequests
  maxBodyBytes?: number
  /** Whether pages may send it by `navigator.sendBeacon`, with a key of kind `pub`; see `allowBeacon`. */
  beacons?: boolean
  /** Whether parameters of the query that are not documented are ignored, as a protocol of others wants it. */
  openQuery?: boolean
  /** Makes another error of what is thrown when the body cannot be read. */
  bodyError?: (error: unknown) => unknown
}

/** A request with a valid key, within its limit, and its body if the operation has one. */
export type KeyCall = { apiKey: ApiKey; request: HttpRequest; body: JsonBody }

/**
 * A route for whoever holds an API key. In this order it answers 401 for a bad key, 403 for a missing scope,
 * 429 for too many requests, then what is wrong with the body as JSON and the names in the query, and then `answer`.
 */
export const keyRoute = (
  operation: KeyOperation,
  options: KeyRouteOptions,
  answer: (call: KeyCall) => Promise<Reply>,
): Route => {
  const { apiKeys, limitRequests, numbers, beacons = false, openQuery = false } = options

  const allow = async (request: HttpRequest): Promise<Sender> => {
    const sender: Sender = beacons
      ? await allowBeacon(apiKeys, operation, request, { numbers })
      : { apiKey: await allowApiKey(apiKeys, operation.access.scope, request) }
    await limitRequests?.(sender.apiKey, request)
    return sender
  }

  const readBody = async (request: HttpRequest, { apiKey, body }: Sender): Promise<JsonBody> => {
    if (options.maxBodyBytes === undefined) return noBody
    const text = beacons && apiKey.kind === 'pub'
    try {
      const read = body ?? (await readJsonBody(request, options.maxBodyBytes, { numbers, text }))
      return text && isText(request) ? withoutKey(read) : read
    } catch (error) {
      throw options.bodyError?.(error) ?? error
    }
  }

  return guardedRoute(operation, allow, async (request, sender) => {
    const body = await readBody(request, sender)
    if (!openQuery) requireKnownQuery(operation, request.url)
    return answer({ apiKey: sender.apiKey, request, body })
  })
}

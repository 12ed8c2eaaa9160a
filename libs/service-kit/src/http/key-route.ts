import type { ApiKeyScope, Operation } from '@waymark/contracts'
import type { ApiKey, ApiKeys } from '@waymark/project-config'
import { allowApiKey, allowBeacon, type Sender, withoutKey } from './authenticate.ts'
import { isText, type JsonBody, type JsonBodyOptions, noBody, readJsonBody } from './json-body.ts'
import type { LimitRequests } from './rate-limit.ts'
import type { Reply } from './reply.ts'
import { type HttpRequest, requireKnownQuery } from './request.ts'
import { guardedRoute, type Route } from './router.ts'

type KeyOperation = Operation<unknown, unknown, { by: 'key'; scope: ApiKeyScope }>

/** `limitRequests` is required for operations with a limit, and `maxBodyBytes` for those with a body. */
type KeyRouteOptions = Pick<JsonBodyOptions, 'numbers'> & {
  apiKeys: ApiKeys
  limitRequests?: LimitRequests
  maxBodyBytes?: number
  /** Whether `navigator.sendBeacon` may send it, with a key of kind `pub`; see `allowBeacon`. */
  beacons?: boolean
  /** Whether unknown query parameters are ignored, as OFREP requires. */
  openQuery?: boolean
  /** Maps errors of reading the body. */
  bodyError?: (error: unknown) => unknown
}

/** A request with a valid key and within its limit, and its body if the operation has one. */
export type KeyCall = { apiKey: ApiKey; request: HttpRequest; body: JsonBody }

/**
 * A route for callers with an API key. It checks in this order: the key (401), its scope (403), the limit (429), the JSON
 * of the body, and the names in the query. Then it calls `answer`.
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

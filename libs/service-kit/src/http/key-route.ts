import type { ApiKeyScope } from '@waymark/contracts/api-key'
import { AppError } from '@waymark/contracts/app-error'
import {
  type Access,
  type AnswerOf,
  type Answers,
  missingCredentials,
  type Operation,
} from '@waymark/contracts/http/operation'
import { withoutMember } from '@waymark/contracts/number-source'
import { isAccessToken } from '@waymark/domain/account'
import type { WorkKind } from '@waymark/domain/fairness'
import { scopeAllows } from '@waymark/domain/key'
import type { ApiKey, ApiKeys } from '@waymark/project-config'
import { requireAllowedOrigin } from './cors.ts'
import { type JsonBody, type JsonBodyOptions, needsNoPreflight, noBody, readJsonBody } from './json-body.ts'
import type { LimitRequests } from './rate-limit.ts'
import type { Reply, TextReply } from './reply.ts'
import { configVersionOf, type HttpRequest, queryOf, requireKnownQuery } from './request.ts'
import { chargeProject } from './request-work.ts'
import { guardedRoute, type Route } from './router.ts'

type KeyOperation<N extends Answers = Answers> = Operation<
  unknown,
  unknown,
  Extract<Access, { by: 'key' }>,
  N
>

/** `limitRequests` is required for operations with a limit, and `maxBodyBytes` for those with a body. */
type KeyRouteOptions = Pick<JsonBodyOptions, 'numbers'> & {
  apiKeys: ApiKeys
  limitRequests?: LimitRequests
  maxBodyBytes?: number
  /**
   * Whether `navigator.sendBeacon` and `EventSource`, which cannot set headers, may send it with a key of kind `pub`; see
   * `allowBeacon`.
   */
  beacons?: boolean
  /** The kind of its work; default `general`. */
  work?: WorkKind
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
export const keyRoute = <const N extends Answers>(
  operation: KeyOperation<N>,
  options: KeyRouteOptions,
  answer: (call: KeyCall) => Promise<Reply<AnswerOf<N>> | TextReply>,
): Route => {
  const { apiKeys, limitRequests, numbers, beacons = false, openQuery = false, work = 'general' } = options

  const allow = async (request: HttpRequest): Promise<Sender> => {
    const sender: Sender = beacons
      ? await allowBeacon(apiKeys, operation, request, { numbers })
      : { apiKey: await allowApiKey(apiKeys, scopesOf(operation.access), request) }
    chargeProject(sender.apiKey, work)
    await limitRequests?.(sender.apiKey, request)
    return sender
  }
  const allowAgain = async (request: HttpRequest, sender: Sender): Promise<Sender> => {
    const key = beacons ? keyOf(request) : undefined
    return { ...sender, apiKey: await allowApiKey(apiKeys, scopesOf(operation.access), request, key) }
  }

  const readBody = async (request: HttpRequest, { apiKey, body }: Sender): Promise<JsonBody> => {
    if (options.maxBodyBytes === undefined) return noBody
    const text = beacons && apiKey.kind === 'pub'
    const anyType = text && isOfPage(request)
    try {
      const read = body ?? (await readJsonBody(request, options.maxBodyBytes, { numbers, text, anyType }))
      return text && mayHoldKey(request) ? withoutKey(read) : read
    } catch (error) {
      throw options.bodyError?.(error) ?? error
    }
  }

  return guardedRoute(
    operation,
    allow,
    async (request, { apiKey }, body) => {
      if (!openQuery) requireKnownQuery(operation, request.url)
      return answer({ apiKey, request, body })
    },
    { read: readBody, allowAgain },
  )
}

/** The scopes of which a key needs one. */
const scopesOf = ({ scope, orScope }: KeyOperation['access']): ApiKeyScope[] =>
  orScope === undefined ? [scope] : [scope, orScope]

const BEARER = /^Bearer +(\S+)$/i

type Headers = Pick<HttpRequest, 'headers'>

const bearerOf = ({ headers }: Headers): string | undefined =>
  headers.authorization === undefined ? undefined : BEARER.exec(headers.authorization)?.[1]

/** The key in a request's headers: `X-API-Key`, else `Authorization: Bearer`; undefined when neither holds one. */
export const keyInHeaders = (request: Headers): string | undefined => {
  const key = request.headers['x-api-key']
  if (typeof key === 'string' && key !== '') return key
  const bearer = bearerOf(request)
  return bearer !== undefined && isAccessToken(bearer) ? undefined : bearer
}

/** The personal access token in the header `Authorization: Bearer`; undefined when there is none. */
export const accessTokenInHeaders = (request: Headers): string | undefined => {
  const bearer = bearerOf(request)
  return bearer !== undefined && isAccessToken(bearer) ? bearer : undefined
}

/**
 * Checks the key of a request, without reading its body. With the header `X-Config-Version` it waits until this process
 * has applied that version of the configuration.
 * @param scope the required scope, or several of which one is; null when no key is allowed
 * @param given the key, by default the one in the headers
 * @throws AppError unauthorized, with the same body for every kind of bad key; forbidden when the key lacks the scope or
 * may not be used from the browser's origin
 */
export const allowApiKey = async (
  apiKeys: ApiKeys,
  scope: ApiKeyScope | readonly ApiKeyScope[] | null,
  request: Headers,
  given: string | undefined = keyInHeaders(request),
): Promise<ApiKey> => {
  const key = await apiKeys.authenticate(given ?? '', configVersionOf(request))
  if (!key) throw new AppError('unauthorized', missingCredentials('key'))
  if (scope === null) {
    throw new AppError('forbidden', 'Only an owner who is signed in may do this', { requiredRole: 'owner' })
  }
  const scopes = [scope].flat()
  if (!scopes.some((one) => scopeAllows(key.scopes, one))) {
    throw new AppError('forbidden', 'The API key lacks the required scope', { requiredScope: scopes[0] })
  }
  requireAllowedOrigin(key, request.headers.origin)
  return key
}

/** How a request names its key in its body. */
export type KeyInBody = {
  read: (request: HttpRequest) => Promise<JsonBody>
  keyIn: (body: unknown) => string | undefined
}

/**
 * Checks the key in the body of a request.
 * @returns the key, and the body if it could be read
 * @throws AppError as `allowApiKey`, or payload_too_large
 */
export const allowKeyInBody = async (
  apiKeys: ApiKeys,
  scope: ApiKeyScope,
  request: HttpRequest,
  { read, keyIn }: KeyInBody,
): Promise<{ apiKey: ApiKey; body?: JsonBody }> => {
  const body = await read(request).catch((error: unknown) => {
    // A client without a valid key only learns that the body is too large, and no other problem of it.
    if (error instanceof AppError && error.code === 'payload_too_large') throw error
    return undefined
  })
  const apiKey = await allowApiKey(apiKeys, scope, request, keyIn(body?.value) ?? '')
  return { apiKey, ...(body && { body }) }
}

/** The query parameter and the body member that contain a key where a client cannot set headers. */
const KEY_NAME = 'apiKey'

/** The key of a request: in its headers, else in `apiKey` of the query. Empty when there is none. */
export const keyOf = (request: Pick<HttpRequest, 'headers' | 'url'>): string =>
  keyInHeaders(request) ?? queryOf(request.url)?.get(KEY_NAME) ?? ''

/** Limits for a body that is read before its key is known. Browsers limit `sendBeacon` to 64 KiB. */
export const MAX_BEACON_BYTES = 64 * 1024
const BEACON_DEADLINE_MS = 2_000

/** A valid key, and the body if it was read to find the key. */
type Sender = { apiKey: ApiKey; body?: JsonBody }

/**
 * Checks the key of a request that may come from `navigator.sendBeacon` or `EventSource`, which cannot set headers. The
 * key is in the headers, else in `apiKey` of the query, else in `apiKey` of a body that a page may send. Outside of headers
 * only keys of kind `pub` are allowed, because proxies log URLs.
 * @throws AppError unauthorized or forbidden
 */
const allowBeacon = async (
  apiKeys: ApiKeys,
  { access }: KeyOperation,
  request: HttpRequest,
  options: JsonBodyOptions,
): Promise<Sender> => {
  if (keyInHeaders(request) !== undefined)
    return { apiKey: await allowApiKey(apiKeys, scopesOf(access), request) }
  const inQuery = queryOf(request.url)?.get(KEY_NAME) ?? undefined
  const body = inQuery === undefined && mayHoldKey(request) ? await readBeacon(request, options) : undefined
  const apiKey = await allowApiKey(apiKeys, scopesOf(access), request, inQuery ?? keyInBody(body) ?? '')
  if (apiKey.kind !== 'pub')
    throw new AppError(
      'forbidden',
      'A key of kind sec is only taken as X-API-Key or as Authorization: Bearer',
    )
  return { apiKey, ...(body && { body }) }
}

/** Whether the body of a request may hold its key. */
const mayHoldKey = (request: HttpRequest): boolean => needsNoPreflight(request) || isOfPage(request)

/** Whether a page sends a request. A Blob that it sends has any type, and nobody is there to read a refusal. */
const isOfPage = ({ headers }: Pick<HttpRequest, 'headers'>): boolean => headers.origin !== undefined

/** Removes the key from a body, so that it is not stored. */
const withoutKey = (body: JsonBody): JsonBody => {
  if (keyInBody(body) === undefined) return body
  return { ...body, value: withoutMember(body.value as object, KEY_NAME) }
}

const keyInBody = (body: JsonBody | undefined): string | undefined => {
  const { value } = body ?? {}
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return undefined
  const key: unknown = Reflect.get(value, KEY_NAME)
  return typeof key === 'string' ? key : undefined
}

/** Returns undefined when the body is too large, too slow or not JSON. */
const readBeacon = async (request: HttpRequest, options: JsonBodyOptions): Promise<JsonBody | undefined> => {
  let timer: NodeJS.Timeout | undefined
  const late = new Promise<undefined>((resolve) => {
    timer = setTimeout(resolve, BEACON_DEADLINE_MS, undefined)
  })
  const body = { ...options, text: true, anyType: isOfPage(request) }
  const read = readJsonBody(request, MAX_BEACON_BYTES, body).catch(() => undefined)
  try {
    return await Promise.race([read, late])
  } finally {
    clearTimeout(timer)
  }
}

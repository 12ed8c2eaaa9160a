import { type ApiKeyScope, AppError, missingCredentials } from '@waymark/contracts'
import { scopeAllows } from '@waymark/domain'
import type { ApiKey, ApiKeys } from '@waymark/project-config'
import { requireAllowedOrigin } from './cors.ts'
import { isText, type JsonBody, type JsonBodyOptions, readJsonBody } from './json-body.ts'
import { type HttpRequest, queryOf } from './request.ts'

const CONFIG_VERSION = 'x-config-version'
/** Versions are of 64 bits in the database. */
const VERSION = /^\d{1,19}$/

const BEARER = /^Bearer +(\S+)$/i

/** The key in a request's headers: `X-API-Key`, else `Authorization: Bearer`; undefined when neither holds one. */
export const keyInHeaders = ({ headers }: Pick<HttpRequest, 'headers'>): string | undefined => {
  const key = headers['x-api-key']
  if (typeof key === 'string' && key !== '') return key
  return headers.authorization === undefined ? undefined : BEARER.exec(headers.authorization)?.[1]
}

/**
 * Checks the key of a request, without reading its body. With the header `X-Config-Version` it waits until this process
 * has applied that version of the configuration.
 * @param scope the required scope; null when no key is allowed
 * @param given the key, by default the one in the headers
 * @throws AppError unauthorized, with the same body for every kind of bad key; forbidden when the key lacks the scope or
 * may not be used from the browser's origin
 */
export const allowApiKey = async (
  apiKeys: ApiKeys,
  scope: ApiKeyScope | null,
  request: HttpRequest,
  given: string | undefined = keyInHeaders(request),
): Promise<ApiKey> => {
  const key = await apiKeys.authenticate(given ?? '', versionIn(request))
  if (!key) throw new AppError('unauthorized', missingCredentials('key'))
  if (scope === null) {
    throw new AppError('forbidden', 'Only an owner who is signed in may do this', { requiredRole: 'owner' })
  }
  if (!scopeAllows(key.scopes, scope)) {
    throw new AppError('forbidden', 'The API key lacks the required scope', { requiredScope: scope })
  }
  requireAllowedOrigin(key, request.headers.origin)
  return key
}

/** The version of the configuration that a request asks for; undefined when it names none. */
const versionIn = ({ headers }: Pick<HttpRequest, 'headers'>): string | undefined => {
  const version = headers[CONFIG_VERSION]
  return typeof version === 'string' && VERSION.test(version) ? version : undefined
}

const MAX_SHOWN_LENGTH = 64

/** @throws AppError bad_request when the header `X-Config-Version` is not a version */
export const requireUsableVersion = (request: Pick<HttpRequest, 'headers'>): void => {
  const sent = request.headers[CONFIG_VERSION]
  if (sent === undefined || versionIn(request) !== undefined) return
  const received = JSON.stringify(`${sent}`.slice(0, MAX_SHOWN_LENGTH).toWellFormed())
  throw new AppError(
    'bad_request',
    `The header X-Config-Version must be the value that a write answered, an integer from 0 up; got ${received}`,
  )
}

/** The query parameter and the body member that contain a key where a client cannot set headers. */
const KEY_NAME = 'apiKey'

/** Limits for a body that is read before its key is known. Browsers limit `sendBeacon` to 64 KiB. */
export const MAX_BEACON_BYTES = 64 * 1024
const BEACON_DEADLINE_MS = 2_000

type KeyOperation = { access: { scope: Parameters<typeof allowApiKey>[1] } }

/** A valid key, and the body if it was read to find the key. */
export type Sender = { apiKey: ApiKey; body?: JsonBody }

/**
 * Checks the key of a request that may come from `navigator.sendBeacon`, which cannot set headers. The key is in the
 * headers, else in `apiKey` of the query, else in `apiKey` of a `text/plain` body of JSON. Outside of headers only keys of
 * kind `pub` are allowed, because proxies log URLs.
 * @throws AppError unauthorized or forbidden
 */
export const allowBeacon = async (
  apiKeys: ApiKeys,
  { access }: KeyOperation,
  request: HttpRequest,
  options: JsonBodyOptions,
): Promise<Sender> => {
  if (keyInHeaders(request) !== undefined)
    return { apiKey: await allowApiKey(apiKeys, access.scope, request) }
  const inQuery = queryOf(request.url)?.get(KEY_NAME) ?? undefined
  const body = inQuery === undefined && isText(request) ? await readBeacon(request, options) : undefined
  const apiKey = await allowApiKey(apiKeys, access.scope, request, inQuery ?? keyInBody(body) ?? '')
  if (apiKey.kind !== 'pub')
    throw new AppError(
      'forbidden',
      'A key of kind sec is only taken as X-API-Key or as Authorization: Bearer',
    )
  return { apiKey, ...(body && { body }) }
}

/** Removes the key from a body, so that it is not stored. */
export const withoutKey = (body: JsonBody): JsonBody => {
  if (keyInBody(body) === undefined) return body
  const { [KEY_NAME]: _key, ...value } = body.value as Record<string, unknown>
  return { ...body, value }
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
  const read = readJsonBody(request, MAX_BEACON_BYTES, { ...options, text: true }).catch(() => undefined)
  try {
    return await Promise.race([read, late])
  } finally {
    clearTimeout(timer)
  }
}

import { type ApiKeyScope, AppError, missingCredentials } from '@waymark/contracts'
import { scopeAllows } from '@waymark/domain'
import type { ApiKey, ApiKeys } from '@waymark/project-config'
import { requireAllowedOrigin } from './cors.ts'
import { isText, type JsonBody, type JsonBodyOptions, readJsonBody } from './json-body.ts'
import { type HttpRequest, queryOf } from './request.ts'

const CONFIG_VERSION = 'x-config-version'

const BEARER = /^Bearer +(\S+)$/i

/** The key in a request's headers: `X-API-Key`, else `Authorization: Bearer`; undefined when neither holds one. */
export const keyInHeaders = ({ headers }: Pick<HttpRequest, 'headers'>): string | undefined => {
  const key = headers['x-api-key']
  if (typeof key === 'string' && key !== '') return key
  return headers.authorization === undefined ? undefined : BEARER.exec(headers.authorization)?.[1]
}

/**
 * The key of a request, from its headers unless it is given, if it is valid and holds `scope`; null is what no key may do. Throws 401 with one body for every kind of bad key, 403 when the scope is missing or the key may not be
 * used from the browser's origin; none of them reads the request's body. With `X-Config-Version` it first waits until that
 * version of the configuration counts in this process.
 * @throws AppError unauthorized or forbidden
 */
export const allowApiKey = async (
  apiKeys: ApiKeys,
  scope: ApiKeyScope | null,
  request: HttpRequest,
  given: string | undefined = keyInHeaders(request),
): Promise<ApiKey> => {
  const configVersion = request.headers[CONFIG_VERSION]
  const key = await apiKeys.authenticate(
    given ?? '',
    typeof configVersion === 'string' ? configVersion : undefined,
  )
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

/** The parameter of the query and the member of a body that hold a key where a client can set no headers. */
const KEY_NAME = 'apiKey'

/** How much is read of a body to find the key in it, in bytes: as much as browsers let pages send by `sendBeacon`. */
export const MAX_BEACON_BYTES = 64 * 1024
/** How long it may take to arrive, in ms. */
const BEACON_DEADLINE_MS = 2_000

type KeyOperation = { access: { scope: Parameters<typeof allowApiKey>[1] } }

/** A valid key, and the body if it had to be read to find the key. */
export type Sender = { apiKey: ApiKey; body?: JsonBody }

/**
 * The valid key of a request, also of one that `navigator.sendBeacon` sends, which can set no headers: from the headers,
 * else from `apiKey` in the query, else from `apiKey` in a `text/plain` body of JSON. Only for the latter the body is read
 * before the key is known, and only 64 KiB of it for at most 2 s; what has no key by then has none. Keys of servers are
 * refused outside of headers, since URLs are logged on their way.
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

/** The body without the key in it, so that the key is stored and shown nowhere. */
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

/** Undefined when it is too large, too slow or no JSON. */
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

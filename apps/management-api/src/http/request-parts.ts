import { parse } from 'node:querystring'
import type { Readable } from 'node:stream'
import { AppError, type Operation, requireValid } from '@waymark/contracts'
import { isDeeperThan, truncateIp } from '@waymark/domain'
import { essenceOf, type HttpRequest, queryTextOf, readJsonBody } from '@waymark/service-kit'
import { requireKnownParameters, unfit, unprocessable } from './validation.ts'

/** Bytes of one request body, unless said otherwise. */
const MAX_BODY_BYTES = 256 * 1024
/** Levels of nesting in one, itself the first: what goes through deeper ones may run out of stack. */
const MAX_BODY_DEPTH = 50

/** The parts of a request that fit the operation's schemas. Those of the path are empty where it has none of that name. */
export type Parts<Body, Query> = {
  body: Body
  query: Query
  projectId: string
  id: string
  key: string
  /** The body as it arrives, for an operation that `consumes` something else than JSON. */
  stream: Readable
}

/**
 * Reads the parts of a request. What the operation does not declare is refused; a body that is not JSON is left to be
 * read as a stream.
 * @throws AppError unsupported_media_type, payload_too_large or bad_request when the body cannot be read, unprocessable
 * when a part does not fit, bad_request for query parameters that are not known and for a body that the operation does
 * not have
 */
export const readParts = async <B, Q>(
  operation: Operation<B, Q>,
  request: HttpRequest,
  maxBodyBytes = MAX_BODY_BYTES,
): Promise<Parts<B, Q>> => {
  const { body, query, consumes } = operation
  if (consumes) requireType(consumes, request)
  const json = body && !consumes ? await readJsonBody(request, maxBodyBytes) : undefined
  requireKnownParameters(operation, request.url)
  if (!body && !consumes) requireNoBody(request)
  const { projectId = '', id = '', key = '' } = request.params
  const parts = {
    body: body && requireValid(body.validator, requireShallow(json?.value), unfit),
    query: query && requireValid(query.validator, { ...parse(queryTextOf(request.url)) }, unfit),
    projectId,
    id,
    key,
    stream: request.message,
  }
  // Where the operation has no schema for a part, its type is unknown, and undefined will do.
  return parts as Parts<B, Q>
}

const requireShallow = (value: unknown): unknown => {
  if (isDeeperThan(value, MAX_BODY_DEPTH))
    throw unprocessable('', 'depth', `is nested deeper than ${MAX_BODY_DEPTH} levels`)
  return value
}

/** Some clients send `{}` or `null` where there is nothing to say. */
const MAX_IGNORED_BODY_BYTES = 4

const requireNoBody = ({ headers }: HttpRequest): void => {
  const bytes = Number(headers['content-length'] ?? 0)
  if (bytes > MAX_IGNORED_BODY_BYTES || headers['transfer-encoding'] !== undefined)
    throw new AppError('bad_request', 'This operation takes no body; send none, or {}')
}

const requireType = (types: readonly string[], { headers }: HttpRequest): void => {
  const hasBody = headers['content-length'] !== undefined || headers['transfer-encoding'] !== undefined
  const isPlain = (headers['content-encoding'] ?? 'identity') === 'identity'
  if (hasBody && isPlain && types.includes(essenceOf(headers['content-type'] ?? ''))) return
  throw new AppError('unsupported_media_type', `The body must be ${types.join(' or ')}, not compressed`)
}

/** What is known of where a request comes from. `network` is what may be stored of the address. */
export type Client = {
  address: string
  network: string | null
  userAgent: string | null
  requestId: string
}

/** Reads it from a request; the address through as many proxies as are trusted. */
export const clientOf = ({ id, ip, headers }: HttpRequest): Client => ({
  address: ip,
  network: truncateIp(ip),
  userAgent: headers['user-agent'] ?? null,
  requestId: id,
})

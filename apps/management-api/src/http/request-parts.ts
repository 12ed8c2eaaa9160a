import { parse } from 'node:querystring'
import type { Readable } from 'node:stream'
import { AppError } from '@waymark/contracts/app-error'
import type { Operation } from '@waymark/contracts/http/operation'
import { requireValid } from '@waymark/contracts/require-valid'
import type { SchemaProblem } from '@waymark/contracts/validator'
import { truncateIp } from '@waymark/domain/enrichment'
import { isDeeperThan } from '@waymark/domain/json'
import { essenceOf, type HttpRequest, queryTextOf, readJsonBody } from '@waymark/service-kit'
import { requireKnownParameters, unfit, unprocessable } from './validation.ts'

/** Default limit of a request body, in bytes. */
const MAX_BODY_BYTES = 256 * 1024
/** Levels of nesting in a body, so that recursive code does not overflow the stack. */
const MAX_BODY_DEPTH = 50

/** The parts of a request, as the operation's schemas describe them. Path parameters default to an empty string. */
export type Parts<Body, Query> = {
  body: Body
  query: Query
  projectId: string
  id: string
  key: string
  /** The body as a stream, for an operation that `consumes` another type than JSON. */
  stream: Readable
}

/**
 * Reads and validates the parts of a request. A body that is not JSON is not read.
 * @throws AppError unsupported_media_type, payload_too_large or bad_request when the body cannot be read, unprocessable
 * when a part does not fit its schema, bad_request for unknown query parameters or a body that the operation does not
 * take
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
    body: body && requireStorable(requireValid(body.validator, requireShallow(json?.value), unfit)),
    query: query && requireValid(query.validator, { ...parse(queryTextOf(request.url)) }, unfitQuery),
    projectId,
    id,
    key,
    stream: request.message,
  }
  // A part without a schema has the type unknown.
  return parts as Parts<B, Q>
}

// In a query `+` is a space. Clients write the offset of a time without encoding it.
const TIME_WITH_SPACE = /T[\d:.]+ \d\d:?\d\d"$/

/** 422 for a query that does not fit its schema, with a hint for a time whose `+` was not encoded. */
export const unfitQuery = (problem: SchemaProblem): AppError =>
  TIME_WITH_SPACE.test(problem.message)
    ? unfit({ ...problem, message: `${problem.message}. Write + as %2B in a query` })
    : unfit(problem)

const requireShallow = (value: unknown): unknown => {
  if (isDeeperThan(value, MAX_BODY_DEPTH))
    throw unprocessable('', 'depth', `is nested deeper than ${MAX_BODY_DEPTH} levels`)
  return value
}

// Prisma would lose a member of this name, and fails when it is null.
const requireStorable = <T>(value: T): T => {
  if (namesPrototype(value))
    throw unprocessable('', 'name', 'has a member named __proto__, which is not allowed')
  return value
}

const namesPrototype = (value: unknown): boolean =>
  typeof value === 'object' &&
  value !== null &&
  (Object.hasOwn(value, '__proto__') || Object.values(value).some(namesPrototype))

/** Some clients send `{}` or `null` instead of no body. */
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

/** The client of a request. `network` is the part of its address that may be stored. */
export type Client = {
  address: string
  network: string | null
  userAgent: string | null
  requestId: string
}

/** The client of a request, behind the trusted proxies. */
export const clientOf = ({ id, ip, headers }: HttpRequest): Client => ({
  address: ip,
  network: truncateIp(ip),
  userAgent: headers['user-agent'] ?? null,
  requestId: id,
})

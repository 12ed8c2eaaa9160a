import type { Readable } from 'node:stream'
import { AppError, type Operation, type RequestPart } from '@waymark/contracts'
import { isDeeperThan } from '@waymark/domain'
import { bodyOf, jsonBody } from '@waymark/service-kit'
import type { Request, RequestHandler, Response } from 'express'
import { requireValid, unprocessable } from './validation.ts'

/** Bytes of one request body, unless said otherwise. */
const MAX_BODY_BYTES = 256 * 1024
/** Levels of nesting in one, itself the first: what goes through deeper ones may run out of stack. */
const MAX_BODY_DEPTH = 50

/** What is answered: 200 unless said, and no body at all for 204. */
export type Reply = { status?: number; body?: unknown }

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

/** Reads the JSON body of an operation that has one; another kind of body is left to be read as a stream. */
export const readBody = ({ body, consumes }: Operation, maxBodyBytes = MAX_BODY_BYTES): RequestHandler[] => {
  if (consumes) return [requireType(consumes)]
  return body ? jsonBody(maxBodyBytes) : []
}

/**
 * The parts of a request whose body was read. Members that their schemas do not declare are left out: what is written
 * may be named after what was sent.
 * @throws AppError unprocessable when one does not fit
 */
export const partsOf = <B, Q>({ body, query }: Operation<B, Q>, req: Request): Parts<B, Q> => {
  const parts = {
    body: body && declared(body, requireValid(body.validator, requireShallow(bodyOf(req).value))),
    query: query && declared(query, requireValid(query.validator, { ...req.query })),
    projectId: pathPart(req, 'projectId'),
    id: pathPart(req, 'id'),
    key: pathPart(req, 'key'),
    stream: req,
  }
  // Where the operation has no schema for a part, its type is unknown, and undefined will do.
  return parts as Parts<B, Q>
}

const requireShallow = (value: unknown): unknown => {
  if (isDeeperThan(value, MAX_BODY_DEPTH))
    throw unprocessable('', 'depth', `is nested deeper than ${MAX_BODY_DEPTH} levels`)
  return value
}

const declared = <T>({ schema }: RequestPart<T>, value: T): T => {
  const { properties } = schema as { properties?: object }
  if (properties === undefined || typeof value !== 'object' || value === null) return value
  const members = Object.entries(value).filter(([name]) => Object.hasOwn(properties, name))
  // What is declared is all that the type speaks of.
  return Object.fromEntries(members) as T
}

const pathPart = ({ params }: Request, name: string): string => {
  const part = params[name]
  return typeof part === 'string' ? part : ''
}

/** Sends a reply. */
export const send = (res: Response, { status = 200, body }: Reply): void => {
  res.status(status)
  if (body === undefined) res.end()
  else res.json(body)
}

const requireType =
  (types: readonly string[]): RequestHandler =>
  (req, _res, next) => {
    const plain = (req.get('Content-Encoding') ?? 'identity') === 'identity'
    if (plain && req.is([...types])) return next()
    throw new AppError('unsupported_media_type', `The body must be ${types.join(' or ')}, not compressed`)
  }

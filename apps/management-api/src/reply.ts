import { Readable } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import type { Operation } from '@waymark/contracts'
import { bodyOf, jsonBody } from '@waymark/service-kit'
import type { Request, RequestHandler, Response } from 'express'
import { entityTagOf, namesTag } from './entity-tag.ts'
import { requireValid } from './validation.ts'

/** Bytes of one request body. */
const MAX_BODY_BYTES = 256 * 1024

/** What is answered: 200 unless said, and no body at all for 204. */
export type Reply = {
  status?: number
  body?: unknown
  /** What the `ETag` is made of when that is not the body. Lists and streams have none. */
  version?: unknown
  /** JSON that is made while it is sent, in place of `body`. */
  stream?: AsyncIterable<string>
}

/** The parts of a request that fit the operation's schemas. Those of the path are empty where it has none of that name. */
export type Parts<Body, Query> = { body: Body; query: Query; projectId: string; id: string; key: string }

/** Reads the body of an operation that has one. */
export const readBody = ({ body }: Operation): RequestHandler[] => (body ? jsonBody(MAX_BODY_BYTES) : [])

/** The parts of a request whose body was read. @throws AppError unprocessable when one does not fit */
export const partsOf = <B, Q>({ body, query }: Operation<B, Q>, req: Request): Parts<B, Q> => {
  const parts = {
    body: body && requireValid(body.validator, bodyOf(req).value),
    query: query && requireValid(query.validator, { ...req.query }),
    projectId: pathPart(req, 'projectId'),
    id: pathPart(req, 'id'),
    key: pathPart(req, 'key'),
  }
  // Where the operation has no schema for a part, its type is unknown, and undefined will do.
  return parts as Parts<B, Q>
}

const pathPart = ({ params }: Request, name: string): string => {
  const part = params[name]
  return typeof part === 'string' ? part : ''
}

/** Sends an answer with its `ETag`; a GET that knows this version already gets 304 and no body. */
export const send = async (req: Request, res: Response, reply: Reply): Promise<void> => {
  const { status = 200, body, stream, version = isList(body) ? undefined : body } = reply
  res.status(status)
  if (stream) {
    res.type('application/json')
    return pipeline(Readable.from(stream), res)
  }
  if (version !== undefined) {
    const tag = entityTagOf(version)
    res.set('ETag', tag)
    if (req.method === 'GET' && namesTag(req.get('If-None-Match'), tag)) return void res.status(304).end()
  }
  if (body === undefined) res.end()
  else res.json(body)
}

const isList = (body: unknown): boolean =>
  typeof body === 'object' && body !== null && 'data' in body && 'nextCursor' in body

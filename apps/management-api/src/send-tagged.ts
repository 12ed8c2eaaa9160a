import { Readable } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import type { Request, Response } from 'express'
import { entityTagOf, namesTag } from './entity-tag.ts'
import { type Reply, send } from './reply.ts'

/** What is answered for a project. */
export type ProjectReply = Reply & {
  /** What the `ETag` is made of when that is not the body. Lists and streams have none. */
  version?: unknown
  /** JSON that is made while it is sent, in place of `body`. */
  stream?: AsyncIterable<string>
}

/** Sends an answer with its `ETag`; a GET that knows this version already gets 304 and no body. */
export const sendTagged = async (req: Request, res: Response, reply: ProjectReply): Promise<void> => {
  const { status = 200, body, stream, version = isList(body) ? undefined : body } = reply
  if (stream) {
    res.status(status).type('application/json')
    return pipeline(Readable.from(stream), res)
  }
  if (version !== undefined) {
    const tag = entityTagOf(version)
    res.set('ETag', tag)
    if (req.method === 'GET' && namesTag(req.get('If-None-Match'), tag)) return void res.status(304).end()
  }
  send(res, { status, body })
}

const isList = (body: unknown): boolean =>
  typeof body === 'object' && body !== null && 'data' in body && 'nextCursor' in body

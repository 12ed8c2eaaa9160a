import { pipeline } from 'node:stream/promises'
import type { Request, Response } from 'express'
import { entityTagOf, namesTag } from './entity-tag.ts'
import { type Reply, send } from './reply.ts'

/** Text that is sent as it is made, at the client's pace; with a `fileName` it is to be saved under that. */
export type TextStream = { type: string; fileName?: string; text: AsyncIterable<string> }

/** What is answered for a project. */
export type ProjectReply = Reply & {
  /** The media type of a body that is no JSON and is sent as it is. */
  type?: string
  /** What the `ETag` is made of when that is not the body. Lists and streams have none. */
  version?: unknown
  /** Sent in place of `body`. */
  stream?: TextStream
}

/** Sends an answer with its `ETag`; a GET that knows this version already gets 304 and no body. */
export const sendTagged = async (req: Request, res: Response, reply: ProjectReply): Promise<void> => {
  const { status = 200, body, type, stream, version = isList(body) ? undefined : body } = reply
  if (stream) {
    if (stream.fileName !== undefined) res.attachment(stream.fileName)
    res.status(status).type(stream.type)
    return pipeline(stream.text, res).catch(unlessClientLeft)
  }
  if (version !== undefined) {
    const tag = entityTagOf(version)
    res.set('ETag', tag)
    if (req.method === 'GET' && namesTag(req.get('If-None-Match'), tag)) return void res.status(304).end()
  }
  if (type !== undefined) res.status(status).type(type).send(body)
  else send(res, { status, body })
}

const isList = (body: unknown): boolean =>
  typeof body === 'object' && body !== null && 'data' in body && 'nextCursor' in body

// There is nobody to tell.
const unlessClientLeft = (error: unknown): void => {
  if ((error as NodeJS.ErrnoException).code !== 'ERR_STREAM_PREMATURE_CLOSE') throw error
}

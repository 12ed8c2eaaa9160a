import { hash } from 'node:crypto'
import type { IncomingMessage } from 'node:http'
import { AppError } from '@waymark/contracts'
import { parseJson } from '@waymark/domain'
import express, { type Request, type RequestHandler, type Response } from 'express'
import { readBody } from './read-body.ts'

/** A JSON body, how many bytes it had after decompression, and on demand a digest of them. */
export type JsonBody = { value: unknown; bytes: number; digest: () => string }

/**
 * Reads a JSON body of at most `limit` bytes, counted after decompression (gzip, deflate, br).
 * Leaves a JsonBody on `req.body` and its bytes for `rawBodyOf`. Answers 415 for other types, 413 above the limit, 400 for what is not JSON.
 */
export const jsonBody = (limit: number): RequestHandler[] => [
  (req, _res, next) => {
    requireJson(req)
    next()
  },
  express.raw({ type: () => true, limit }),
  (req, res, next) => {
    const bytes: Buffer = Buffer.isBuffer(req.body) ? req.body : Buffer.alloc(0)
    res.locals.rawBody = bytes
    req.body = parseBody(bytes)
    next()
  },
]

/** The same for a request without Express. @throws AppError, and what `readBody` throws */
export const readJsonBody = async (req: IncomingMessage, limit: number): Promise<JsonBody> => {
  requireJson(req)
  return parseBody(await readBody(req, limit))
}

/** The body that `jsonBody` left. */
export const bodyOf = (req: Request): JsonBody => req.body as JsonBody

/** The bytes that `jsonBody` parsed: the body after decompression, as it was sent. */
export const rawBodyOf = (res: Response): Buffer => res.locals.rawBody as Buffer

const JSON_TYPE = /^application\/(?:[\w.-]+\+)?json$/

const requireJson = ({ headers }: IncomingMessage): void => {
  const type = headers['content-type'] ?? ''
  if (type === 'application/json') return
  const [essence = ''] = type.toLowerCase().split(';', 1)
  if (JSON_TYPE.test(essence.trim())) return
  throw new AppError('unsupported_media_type', 'The body must be JSON, with Content-Type: application/json')
}

const utf8 = new TextDecoder()

const parseBody = (bytes: Buffer): JsonBody => {
  try {
    return {
      value: parseJson(utf8.decode(bytes)),
      bytes: bytes.length,
      digest: () => hash('sha256', bytes, 'base64url'),
    }
  } catch {
    throw new AppError('bad_request', bytes.length === 0 ? 'The body is empty' : 'The body is not valid JSON')
  }
}

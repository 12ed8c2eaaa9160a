import { createHash } from 'node:crypto'
import { AppError } from '@waymark/contracts'
import { parseJson } from '@waymark/domain'
import type { Request, RequestHandler, Response } from 'express'
import { readBytes } from './read-bytes.ts'

/** A JSON body, how many bytes it had after decompression, and on demand a digest of them. */
export type JsonBody = { value: unknown; bytes: number; digest: () => string }

/**
 * Reads a JSON body of at most `limit` bytes, counted after decompression (gzip, deflate, br).
 * Leaves a JsonBody on `req.body` and its bytes for `rawBodyOf`. Answers 415 for other types, 413 above the limit, 400
 * for what is not JSON.
 */
export const jsonBody = (limit: number): RequestHandler[] => [requireJson, readJson(limit)]

/** The body that `jsonBody` left. */
export const bodyOf = (req: Request): JsonBody => req.body as JsonBody

/** The bytes that `jsonBody` parsed: the body after decompression, as it was sent. */
export const rawBodyOf = (res: Response): Buffer => res.locals.rawBody as Buffer

const requireJson: RequestHandler = (req, _res, next) => {
  const type = req.headers['content-type'] ?? ''
  const [essence = ''] = type.toLowerCase().split(';', 1)
  if (/^application\/(?:[\w.-]+\+)?json$/.test(essence.trim())) return next()
  throw new AppError('unsupported_media_type', 'The body must be JSON, with Content-Type: application/json')
}

const utf8 = new TextDecoder()

const digestOf = (bytes: Buffer): string => createHash('sha256').update(bytes).digest('base64url')

const readJson =
  (limit: number): RequestHandler =>
  async (req, res, next) => {
    const bytes = await readBytes(req, limit)
    res.locals.rawBody = bytes
    req.body = { value: parse(bytes), bytes: bytes.length, digest: () => digestOf(bytes) } satisfies JsonBody
    next()
  }

const parse = (bytes: Buffer): unknown => {
  try {
    return parseJson(utf8.decode(bytes))
  } catch {
    throw new AppError('bad_request', bytes.length === 0 ? 'The body is empty' : 'The body is not valid JSON')
  }
}

import { createHash } from 'node:crypto'
import { AppError } from '@waymark/contracts'
import { holdsNumberOutOfRange, parseJson } from '@waymark/domain'
import type { Request, RequestHandler, Response } from 'express'
import { readBytes } from './read-bytes.ts'

/** `numbers`: whether one that is out of range makes the whole body unusable, or is left as infinite to be refused later. */
export type JsonBodyOptions = { numbers?: 'in range' | 'any' }

/** A JSON body, how many bytes it had after decompression, and on demand a digest of them. */
export type JsonBody = { value: unknown; bytes: number; digest: () => string }

/**
 * Reads a JSON body of at most `limit` bytes, counted after decompression (gzip, deflate, br).
 * Leaves a JsonBody on `req.body` and its bytes for `rawBodyOf`. Answers 415 for other types, 413 above the limit, 400
 * for what is not JSON or holds a number that is out of range.
 */
export const jsonBody = (limit: number, { numbers = 'in range' }: JsonBodyOptions = {}): RequestHandler[] => [
  requireJson,
  readJson(limit, numbers),
]

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
  (limit: number, numbers: JsonBodyOptions['numbers']): RequestHandler =>
  async (req, res, next) => {
    const bytes = await readBytes(req, limit)
    res.locals.rawBody = bytes
    const text = utf8.decode(bytes)
    const value = parse(text)
    if (numbers === 'in range' && holdsNumberOutOfRange(text, value))
      throw new AppError('bad_request', 'The body holds a number that is out of range')
    req.body = { value, bytes: bytes.length, digest: () => digestOf(bytes) } satisfies JsonBody
    next()
  }

const parse = (text: string): unknown => {
  try {
    return parseJson(text)
  } catch {
    throw new AppError('bad_request', text.length === 0 ? 'The body is empty' : 'The body is not valid JSON')
  }
}

import { hash } from 'node:crypto'
import type { IncomingMessage } from 'node:http'
import { AppError } from '@waymark/contracts'
import { holdsNumberOutOfRange, parseJson } from '@waymark/domain'
import type { Request, RequestHandler, Response } from 'express'
import { readBytes } from './read-bytes.ts'

/** A JSON body, how many bytes it had after decompression, and on demand a digest of them. */
export type JsonBody = { value: unknown; bytes: number; digest: () => string }

/** `numbers`: whether one that is out of range makes the whole body unusable, or is left as infinite to be refused later. */
export type JsonBodyOptions = { numbers?: 'in range' | 'any' }

/**
 * Reads a JSON body of at most `limit` bytes, counted after decompression (gzip, deflate, br).
 * Leaves a JsonBody on `req.body` and its bytes for `rawBodyOf`. Answers 415 for other types, 413 above the limit, 400
 * for what is not JSON or holds a number that is out of range.
 */
export const jsonBody = (limit: number, options: JsonBodyOptions = {}): RequestHandler[] => [
  (req, _res, next) => {
    requireJson(req)
    next()
  },
  async (req, res, next) => {
    const bytes = await readBytes(req, limit)
    res.locals.rawBody = bytes
    req.body = parseBody(bytes, options)
    next()
  },
]

/** The same for a request without Express. @throws AppError */
export const readJsonBody = async (
  req: IncomingMessage,
  limit: number,
  options: JsonBodyOptions = {},
): Promise<JsonBody> => {
  requireJson(req)
  return parseBody(await readBytes(req, limit), options)
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

const BYTE_ORDER_MARK = '\uFEFF'

/** As a TextDecoder does it, in a fraction of the time. */
const decodeUtf8 = (bytes: Buffer): string => {
  const text = bytes.toString('utf8')
  return text.startsWith(BYTE_ORDER_MARK) ? text.slice(1) : text
}

const parseBody = (bytes: Buffer, { numbers = 'in range' }: JsonBodyOptions): JsonBody => {
  const text = decodeUtf8(bytes)
  const value = parse(text)
  if (numbers === 'in range' && holdsNumberOutOfRange(text, value))
    throw new AppError('bad_request', 'The body holds a number that is out of range')
  return { value, bytes: bytes.length, digest: () => hash('sha256', bytes, 'base64url') }
}

const parse = (text: string): unknown => {
  try {
    return parseJson(text)
  } catch {
    throw new AppError('bad_request', text.length === 0 ? 'The body is empty' : 'The body is not valid JSON')
  }
}

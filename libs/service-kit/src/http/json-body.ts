import { AppError } from '@waymark/contracts'
import { parseJson } from '@waymark/domain'
import express, { type Request, type RequestHandler } from 'express'

/** A JSON body and how many bytes it had after decompression. */
export type JsonBody = { value: unknown; bytes: number }

/**
 * Reads a JSON body of at most `limit` bytes, counted after decompression (gzip, deflate, br).
 * Leaves a JsonBody on `req.body`. Answers 415 for other types, 413 above the limit, 400 for what is not JSON.
 */
export const jsonBody = (limit: number): RequestHandler[] => [
  requireJson,
  express.raw({ type: () => true, limit }),
  parseBody,
]

/** The body that `jsonBody` left. */
export const bodyOf = (req: Request): JsonBody => req.body as JsonBody

const requireJson: RequestHandler = (req, _res, next) => {
  const type = req.headers['content-type'] ?? ''
  const [essence = ''] = type.toLowerCase().split(';', 1)
  if (/^application\/(?:[\w.-]+\+)?json$/.test(essence.trim())) return next()
  throw new AppError('unsupported_media_type', 'The body must be JSON, with Content-Type: application/json')
}

const utf8 = new TextDecoder()

const parseBody: RequestHandler = (req, _res, next) => {
  const bytes: Buffer = Buffer.isBuffer(req.body) ? req.body : Buffer.alloc(0)
  try {
    req.body = { value: parseJson(utf8.decode(bytes)), bytes: bytes.length } satisfies JsonBody
  } catch {
    throw new AppError('bad_request', bytes.length === 0 ? 'The body is empty' : 'The body is not valid JSON')
  }
  next()
}

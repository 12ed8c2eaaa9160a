import type { Readable } from 'node:stream'
import { promisify } from 'node:util'
import { inflate, inflateRaw } from 'node:zlib'
import { AppError } from '@waymark/contracts/app-error'
import express, { type Request, type RequestHandler, type Response } from 'express'
import { eventLoopTurn } from './event-loop-turn.ts'
import type { HttpRequest } from './request.ts'

/** The encodings of a body, as they are shown in errors. */
const ENCODINGS = ['gzip', 'deflate', 'br']

/** Bytes a second that a client must send at least, and the time that the smallest body has, in ms. */
const MIN_RATE = 32 * 1024
const MIN_TIME_MS = 10_000

/** How long a body of at most `limit` bytes may take to arrive, in ms. */
export const bodyTimeMs = (limit: number, contentLength: string | undefined): number =>
  Math.max(MIN_TIME_MS, (Math.min(limit, Number(contentLength ?? limit)) / MIN_RATE) * 1_000)

/**
 * Reads a body within its time. The deadline of the answer counts from its end, if the body was still arriving.
 * @throws AppError request_timeout, or as `readBytes`
 */
export const readBody = (
  { message, deadline }: Pick<HttpRequest, 'message' | 'deadline'>,
  limit: number,
  timeMs = bodyTimeMs(limit, message.headers['content-length']),
): Promise<Buffer> =>
  new Promise((resolve, reject) => {
    const turn = eventLoopTurn()
    let isRead = false
    let timer: NodeJS.Timeout | undefined
    const end = (): void => {
      if (isRead) return
      isRead = true
      clearTimeout(timer)
      if (turn.over) deadline.timer?.refresh()
    }
    const expire = (): void => {
      end()
      reject(new AppError('request_timeout', LATE))
    }
    readBytes(message, limit).then(
      (bytes) => {
        end()
        resolve(bytes)
      },
      (error: unknown) => {
        end()
        reject(error)
      },
    )
    // Most bodies arrive with their headers and need no timer.
    turn.listeners.push(() => {
      if (!isRead) timer = setTimeout(expire, timeMs)
    })
  })

const LATE = 'The request did not arrive in time'

/**
 * Reads the body of a request. `express.raw` decompresses gzip and br. Rejects as soon as the body exceeds `limit` bytes,
 * before or after decompression.
 * @throws AppError payload_too_large, unsupported_media_type for another encoding, bad_request when it is corrupt or
 * incomplete
 */
export const readBytes = async (req: Request, limit: number): Promise<Buffer> => {
  const encoding = encodingOf(req)
  if (Number(req.headers['content-length']) > limit) throw tooLarge(limit)
  if (encoding === 'identity') return readPlain(req, limit)
  // express.raw does not know deflate without the header of zlib.
  if (encoding === 'deflate') return inflated(await readPlain(req, limit), limit)
  return readCompressed(req, limit)
}

/** Reads a body as it is. `express.raw` costs busy routes too much. See ADR 31. */
const readPlain = (req: Request, limit: number): Promise<Buffer> =>
  new Promise((resolve, reject) => {
    // A request without a body emits no `end` event.
    if (req.readableEnded) return resolve(Buffer.alloc(0))
    let chunks: Buffer[] = []
    let size = 0
    req.on('data', (chunk: Buffer) => {
      size += chunk.length
      if (size <= limit) return void chunks.push(chunk)
      chunks = []
      reject(tooLarge(limit))
    })
    req.once('end', () => {
      const all = chunks
      // The listeners of the request keep it in memory until the answer.
      chunks = []
      resolve(all.length === 1 && all[0] ? all[0] : Buffer.concat(all))
    })
    req.once('close', () => {
      if (!req.complete) reject(endedEarly())
    })
  })

const endedEarly = (): AppError => new AppError('bad_request', 'The request ended before its body did')

const MAX_SHOWN_LENGTH = 64

/**
 * The encoding of a body. `x-gzip` becomes `gzip`, and `identity` beside another and an empty header count as none, also in
 * the request. @throws AppError unsupported_media_type
 */
const encodingOf = ({ headers }: Request): string => {
  const named = headers['content-encoding']
  if (named === undefined) return 'identity'
  const encoding = named.toLowerCase()
  const [only = 'identity', ...others] = encoding.split(',').flatMap((part) => {
    const name = part.trim()
    return name === '' || name === 'identity' ? [] : [name === 'x-gzip' ? 'gzip' : name]
  })
  if (others.length === 0 && (only === 'identity' || ENCODINGS.includes(only))) {
    headers['content-encoding'] = only
    return only
  }
  const received = JSON.stringify(encoding.slice(0, MAX_SHOWN_LENGTH))
  throw new AppError(
    'unsupported_media_type',
    `The Content-Encoding must be one of ${ENCODINGS.join(', ')}; got ${received}`,
  )
}

const [decompress, decompressRaw] = [promisify(inflate), promisify(inflateRaw)] as const

/** Decompresses deflate, which some clients send without the header of zlib. */
const inflated = async (bytes: Buffer, limit: number): Promise<Buffer> => {
  // The header is a multiple of 31, and its lower four bits say deflate (RFC 1950).
  const hasHeader = bytes.length >= 2 && bytes.readUInt16BE() % 31 === 0 && ((bytes[0] ?? 0) & 0x0f) === 8
  try {
    return await (hasHeader ? decompress : decompressRaw)(bytes, { maxOutputLength: limit })
  } catch (error) {
    throw bodyErrorOf(error, limit)
  }
}

const readCompressed = (req: Request, limit: number): Promise<Buffer> =>
  new Promise((resolve, reject) => {
    refuseEarly(req, limit, reject)
    rawParser(limit)(req, req.res as Response, (error?: unknown) => {
      if (error !== undefined) return reject(bodyErrorOf(error, limit))
      const body: unknown = req.body
      resolve(Buffer.isBuffer(body) ? body : Buffer.alloc(0))
    })
  })

const parsers = new Map<number, RequestHandler>()

const rawParser = (limit: number): RequestHandler => {
  const parser = parsers.get(limit) ?? express.raw({ limit, type: () => true })
  parsers.set(limit, parser)
  return parser
}

/** Express reads a refused body to its end before it says so, and the client may never send the end. */
const refuseEarly = (req: Request, limit: number, reject: (error: AppError) => void): void => {
  const measure = (stream: Readable): void => {
    let size = 0
    stream.on('data', (chunk: Buffer) => {
      size += chunk.length
      if (size <= limit) return
      req.unpipe()
      reject(tooLarge(limit))
    })
  }
  req.once('close', () => {
    if (!req.complete) reject(endedEarly())
  })
  // An endless compressed body may decompress to nothing.
  measure(req)
  const pipe = req.pipe
  // Express pipes a compressed body to what decompresses it.
  req.pipe = (destination, options) => {
    measure(destination as unknown as Readable)
    return pipe.call(req, destination, options) as typeof destination
  }
}

/** Codes of errors of zlib and Brotli. */
const OF_DECOMPRESSION = /^(?:Z_|ERR__ERROR_|ERR_BROTLI)/

/** The error for a body that could not be read or decompressed. */
export const bodyErrorOf = (error: unknown, limit: number): AppError => {
  const { type, code } = Object(error) as { type?: string; code?: string }
  if (type === 'entity.too.large' || code === 'ERR_BUFFER_TOO_LARGE') return tooLarge(limit)
  if (code !== undefined && OF_DECOMPRESSION.test(code))
    return new AppError('bad_request', 'The body is not compressed as the request says')
  return new AppError('bad_request', 'The request is malformed')
}

const tooLarge = (limit: number): AppError =>
  new AppError('payload_too_large', `The request body is larger than ${limit} bytes`)

import type { IncomingMessage, ServerResponse } from 'node:http'
import type { Writable } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import { AppError } from '@waymark/contracts/app-error'
import type { Endpoint } from '@waymark/contracts/http/operation'
import type { Response } from 'express'
import helmet from 'helmet'
import { atEndOfTurn } from './event-loop-turn.ts'
import type { HttpRequest, ReplyHeaders } from './request.ts'

/** The reply to a request. `Body` is its JSON; `unknown` for text and bytes. */
export type Reply<Body = unknown> = {
  /** Default: 200. */
  status?: number
  headers?: ReplyHeaders
  /** Whether a browser may display it. It then has all security headers, also if its operation is `forPrograms`. */
  shown?: boolean
  /** Sent as JSON, unless `type` is set: then it is text or bytes. */
  body?: Body
  /** The media type of a body that is not JSON, with its charset. */
  type?: string
  /** Text or bytes that are sent as they are produced, instead of `body`. */
  stream?: AsyncGenerator<string | Uint8Array>
  /** Called with the response once its headers are sent, instead of `body`. The caller writes and ends it. */
  open?: (response: ServerResponse) => void
  /** Path of a file that is sent instead of `body`. */
  file?: string
}

/** A reply of text or bytes, such as JSON that is stored as text. */
export type TextReply = Reply<string | Buffer> & { type: string }

const JSON_TYPE = 'application/json; charset=utf-8'

/** Of helmet's headers, those that mean something to programs. */
const FOR_PROGRAMS = {
  'Strict-Transport-Security': 'max-age=31536000; includeSubDomains',
  'X-Content-Type-Options': 'nosniff',
}

/** The headers that helmet sets. They are the same for all answers, so it is asked once: see ADR 31. */
const securityHeaders = (): ReplyHeaders => {
  const headers: ReplyHeaders = {}
  const response = {
    setHeader: (name: string, value: string) => {
      headers[name] = value
    },
    removeHeader: () => {},
  }
  helmet()({} as IncomingMessage, response as unknown as ServerResponse, () => {})
  return headers
}

const FOR_BROWSERS = securityHeaders()

/**
 * Sends a reply, unless the request is already answered.
 * @param endpoint undefined for an error
 * @throws what a stream throws
 */
export const sendReply = async (
  request: HttpRequest,
  response: Response,
  endpoint: Endpoint | undefined,
  { status = 200, headers: own, shown = false, body, type, stream, open, file }: Reply,
): Promise<void> => {
  if (response.headersSent) return
  const isForPrograms = endpoint?.forPrograms === true && !shown
  const headers: ReplyHeaders = {
    ...(isForPrograms ? FOR_PROGRAMS : FOR_BROWSERS),
    ...request.replyHeaders,
    ...own,
  }
  if (file !== undefined) return sendFile(response, headers, file)
  if (stream !== undefined) {
    headers['Content-Type'] = type ?? JSON_TYPE
    return sendPieces(response, status, headers, stream)
  }
  if (open !== undefined) {
    response.writeHead(status, { ...headers, 'Content-Type': type ?? JSON_TYPE })
    return request.method === 'HEAD' ? void response.end() : open(response)
  }
  if (status === 204 || status === 304) return void response.writeHead(status, headers).end()
  if (body !== undefined) headers['Content-Type'] = type ?? JSON_TYPE
  if (body !== undefined && type === undefined && !isForPrograms) {
    setHeaders(response, headers)
    return void response.status(status).json(body)
  }
  // Not `response.json`, which costs busy routes too much. See ADR 31.
  const content =
    body === undefined ? '' : type === undefined ? JSON.stringify(body) : (body as string | Buffer)
  headers['Content-Length'] = `${Buffer.byteLength(content)}`
  response.writeHead(status, headers)
  // Waking a client costs more than the write itself, and the writes of one turn wake it once. See ADR 31.
  atEndOfTurn(() => response.end(content))
}

const setHeaders = (response: Response, headers: ReplyHeaders): void => {
  // Not `response.set`, which would add a charset to some types.
  for (const [name, value] of Object.entries(headers)) response.setHeader(name, value)
}

/** Sends a stream. It sends nothing before the first piece, so that an earlier failure becomes an error reply. */
const sendPieces = async (
  response: ServerResponse,
  status: number,
  headers: ReplyHeaders,
  pieces: AsyncGenerator<string | Uint8Array>,
): Promise<void> => {
  try {
    const first = await pieces.next()
    if (response.headersSent) return
    response.writeHead(status, headers)
    await sendStream(response, prepend(first, pieces))
  } finally {
    await pieces.return(undefined)
  }
}

async function* prepend(
  { done, value }: IteratorResult<string | Uint8Array>,
  rest: AsyncGenerator<string | Uint8Array>,
): AsyncGenerator<string | Uint8Array> {
  if (!done) yield value
  yield* rest
}

const removeHeadersExcept = (kept: readonly string[], response: Response): void => {
  if (response.headersSent) return
  for (const name of response.getHeaderNames()) if (!kept.includes(name)) response.removeHeader(name)
}

/** Sends a file, with support for ranges and conditional requests. */
const sendFile = (response: Response, headers: ReplyHeaders, path: string): Promise<void> =>
  new Promise((resolve, reject) => {
    const before = response.getHeaderNames()
    setHeaders(response, headers)
    const done = (error?: Error & { status?: number; code?: string }): void => {
      // The client may have closed the connection.
      if (error !== undefined && error.code !== 'ECONNABORTED') {
        removeHeadersExcept(before, response)
        const isClientError = error.status === 412 || error.status === 416
        reject(isClientError ? new AppError('bad_request', 'The request is malformed') : error)
      }
      resolve()
    }
    // The product may be installed below a folder whose name begins with a dot.
    response.sendFile(path, { cacheControl: false, etag: false, dotfiles: 'allow' }, done)
  })

/** How long a client may take to accept one piece of a stream, in ms. */
const WRITE_TIMEOUT_MS = 30_000

/**
 * Sends text or bytes as they are produced. A client that accepts nothing for `timeoutMs` is disconnected, to release the resources
 * of the stream. Resolves also when the client disconnects.
 */
export const sendStream = async (
  response: Writable,
  content: AsyncIterable<string | Uint8Array>,
  timeoutMs = WRITE_TIMEOUT_MS,
): Promise<void> => {
  let timer: NodeJS.Timeout | undefined
  const startTimer = () => {
    timer = setTimeout(() => response.destroy(), timeoutMs)
  }
  // The next piece is requested once the previous one was accepted.
  async function* pieces() {
    for await (const piece of content) {
      startTimer()
      yield piece
      clearTimeout(timer)
    }
    startTimer()
  }
  try {
    await pipeline(pieces(), response)
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ERR_STREAM_PREMATURE_CLOSE') throw error
  } finally {
    clearTimeout(timer)
  }
}

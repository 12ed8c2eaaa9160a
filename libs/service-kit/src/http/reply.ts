import type { IncomingMessage, ServerResponse } from 'node:http'
import type { Writable } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import { AppError, type Endpoint } from '@waymark/contracts'
import helmet from 'helmet'
import sendFile from 'send'
import type { HttpRequest, ReplyHeaders } from './request.ts'

/** The reply to a request. */
export type Reply = {
  /** Default: 200. */
  status?: number
  headers?: ReplyHeaders
  /** Whether a browser may display it. It then has all security headers, also if its operation is `forPrograms`. */
  shown?: boolean
  /** Sent as JSON, unless `type` is set: then it is text or bytes. */
  body?: unknown
  /** The media type of a body that is not JSON, with its charset. */
  type?: string
  /** Text or bytes that are sent as they are produced, instead of `body`. */
  stream?: AsyncGenerator<string | Uint8Array>
  /** Called with the response once its headers are sent, instead of `body`. The caller writes and ends it. */
  open?: (response: ServerResponse) => void
  /** Path of a file that is sent instead of `body`. */
  file?: string
}

const JSON_TYPE = 'application/json; charset=utf-8'

/**
 * Sends a reply, unless the request is already answered.
 * @param endpoint undefined for an error
 * @throws what a stream throws
 */
export const sendReply = async (
  request: HttpRequest,
  response: ServerResponse,
  endpoint: Endpoint | undefined,
  { status = 200, headers: own, shown = false, body, type, stream, open, file }: Reply,
): Promise<void> => {
  if (response.headersSent) return
  const security = securityHeaders(endpoint?.forPrograms === true && !shown)
  const headers: ReplyHeaders = { ...security, ...request.replyHeaders, ...own }
  if (file !== undefined) return sendFileOf(request, response, headers, file)
  if (stream !== undefined) {
    headers['Content-Type'] = type ?? JSON_TYPE
    return sendPieces(response, status, headers, stream)
  }
  if (open !== undefined) {
    response.writeHead(status, { ...headers, 'Content-Type': type ?? JSON_TYPE })
    return request.method === 'HEAD' ? void response.end() : open(response)
  }
  if (status === 204 || status === 304) return void response.writeHead(status, headers).end()
  const content =
    body === undefined ? '' : type === undefined ? JSON.stringify(body) : (body as string | Buffer)
  if (body !== undefined) headers['Content-Type'] = type ?? JSON_TYPE
  headers['Content-Length'] = `${Buffer.byteLength(content)}`
  response.writeHead(status, headers)
  endTogether(response, content)
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

/** Sends a file, with support for ranges and conditional requests. */
const sendFileOf = (
  { message }: HttpRequest,
  response: ServerResponse,
  headers: ReplyHeaders,
  path: string,
): Promise<void> =>
  new Promise((resolve, reject) => {
    for (const [name, value] of Object.entries(headers)) response.setHeader(name, value)
    const fail = (error: Error & { status?: number }): void => {
      for (const name of Object.keys(headers)) response.removeHeader(name)
      const isClientError = error.status === 412 || error.status === 416
      reject(isClientError ? new AppError('bad_request', 'The request is malformed') : error)
    }
    response.once('close', resolve)
    sendFile(message, path, { cacheControl: false, etag: false }).on('error', fail).pipe(response)
  })

type Ending = { response: ServerResponse; content: string | Buffer }

let ready: Ending[] = []

const endAll = (): void => {
  const endings = ready
  ready = []
  for (const { response, content } of endings) response.end(content)
}

/**
 * Ends a response together with all others that are ready in the same turn of the event loop. Waking a client costs more
 * than the write itself, and consecutive writes wake it once.
 */
export const endTogether = (response: ServerResponse, content: string | Buffer): void => {
  if (ready.push({ response, content }) === 1) setImmediate(endAll)
}

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

type Headers = Readonly<Record<string, string>>

/** The headers that helmet sets. They are the same for every reply. */
const collectHeaders = (): Headers => {
  const headers: Record<string, string> = {}
  const response = {
    setHeader: (name: string, value: string) => {
      headers[name] = value
    },
    removeHeader: () => {},
  }
  helmet()({} as IncomingMessage, response as unknown as ServerResponse, (error) => {
    if (error) throw error
  })
  return headers
}

const ALL = collectHeaders()
const FOR_PROGRAMS: Headers = Object.fromEntries(
  Object.entries(ALL).filter(([name]) =>
    ['Strict-Transport-Security', 'X-Content-Type-Options'].includes(name),
  ),
)

const securityHeaders = (forPrograms: boolean): Headers => (forPrograms ? FOR_PROGRAMS : ALL)

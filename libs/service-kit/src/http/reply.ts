import type { IncomingMessage, ServerResponse } from 'node:http'
import type { Writable } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import { AppError, type Endpoint } from '@waymark/contracts'
import helmet from 'helmet'
import sendFile from 'send'
import type { HttpRequest, ReplyHeaders } from './request.ts'

/** What a request is answered with. */
export type Reply = {
  /** 200 unless said. */
  status?: number
  headers?: ReplyHeaders
  /** Whether it has all security headers, though its operation is one for programs: a browser may show it. */
  shown?: boolean
  /** Sent as JSON; with a `type` it is text or bytes, which are sent as they are. */
  body?: unknown
  /** The media type of what is not JSON, with its charset. */
  type?: string
  /** Text that is sent as it is made, at the client's pace, in place of `body`. */
  stream?: AsyncGenerator<string>
  /** Path of a file that is sent in place of `body`. */
  file?: string
}

const JSON_TYPE = 'application/json; charset=utf-8'

/**
 * Sends a reply, unless the request has been answered. Without an endpoint it is an error's.
 * @throws what a stream throws
 */
export const sendReply = async (
  request: HttpRequest,
  response: ServerResponse,
  endpoint: Endpoint | undefined,
  { status = 200, headers: own, shown = false, body, type, stream, file }: Reply,
): Promise<void> => {
  if (response.headersSent) return
  const security = securityHeaders(endpoint?.forPrograms === true && !shown)
  const headers: ReplyHeaders = { ...security, ...request.replyHeaders, ...own }
  if (file !== undefined) return sendFileOf(request, response, headers, file)
  if (stream !== undefined) {
    headers['Content-Type'] = type ?? JSON_TYPE
    return sendText(response, status, headers, stream)
  }
  if (status === 204 || status === 304) return void response.writeHead(status, headers).end()
  const content =
    body === undefined ? '' : type === undefined ? JSON.stringify(body) : (body as string | Buffer)
  if (body !== undefined) headers['Content-Type'] = type ?? JSON_TYPE
  headers['Content-Length'] = `${Buffer.byteLength(content)}`
  response.writeHead(status, headers)
  endTogether(response, content)
}

/** Sends text once its first piece is there: what fails before that can still be an error's answer. */
const sendText = async (
  response: ServerResponse,
  status: number,
  headers: ReplyHeaders,
  text: AsyncGenerator<string>,
): Promise<void> => {
  try {
    const first = await text.next()
    if (response.headersSent) return
    response.writeHead(status, headers)
    await sendStream(response, beginningWith(first, text))
  } finally {
    await text.return(undefined)
  }
}

async function* beginningWith(
  { done, value }: IteratorResult<string>,
  rest: AsyncGenerator<string>,
): AsyncGenerator<string> {
  if (!done) yield value
  yield* rest
}

/** Sends a file as `send` does: whole, in part, or not at all when the client has it. */
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
      const isOfClient = error.status === 412 || error.status === 416
      reject(isOfClient ? new AppError('bad_request', 'The request is malformed') : error)
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
 * Ends an answer together with all others that become ready in the same turn of the event loop. A client that sleeps has
 * to be woken, which takes longer than to write to it; one write does so for all that follow.
 */
export const endTogether = (response: ServerResponse, content: string | Buffer): void => {
  if (ready.push({ response, content }) === 1) setImmediate(endAll)
}

/** How long a reader may take to accept one piece of a stream, in ms. */
export const WRITE_TIMEOUT_MS = 30_000

/**
 * Sends text as it is made, at the reader's pace. A reader who accepts nothing for `timeoutMs` is disconnected, so that
 * what the text is made from is released. Resolves also when the reader has left.
 */
export const sendStream = async (
  response: Writable,
  text: AsyncIterable<string>,
  timeoutMs = WRITE_TIMEOUT_MS,
): Promise<void> => {
  let timer: NodeJS.Timeout | undefined
  const startTimer = () => {
    timer = setTimeout(() => response.destroy(), timeoutMs)
  }
  // The next piece is asked for once the one before was accepted.
  async function* pieces() {
    for await (const piece of text) {
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

/** All headers that helmet sets, which are the same for every answer. */
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

/** The security headers of an answer: those for pages too, unless it is for programs. */
export const securityHeaders = (forPrograms: boolean): Headers => (forPrograms ? FOR_PROGRAMS : ALL)

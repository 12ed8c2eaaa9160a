import { once } from 'node:events'
import {
  createServer,
  type IncomingMessage,
  type RequestListener,
  type ServerResponse,
  STATUS_CODES,
} from 'node:http'
import type { AddressInfo, Socket } from 'node:net'
import type { Duplex } from 'node:stream'
import { setTimeout as sleep } from 'node:timers/promises'
import { requestIdOf } from './request.ts'

/**
 * A server that listens. `stop` first goes on for `drainMs`, telling every client on a kept connection to open another
 * one, which a proxy in front sends elsewhere; then it answers what is under way, takes nothing new, and closes.
 */
export type HttpServer = { port: number; stop(options?: { drainMs?: number }): Promise<void> }

// Longer than the idle time of usual proxies, so that they and not we close an idle connection.
const KEEP_ALIVE_MS = 75_000
/** How long requests that are under way at a stop have to finish, in ms. */
const FINISH_MS = 5_000

/** How long a client may take for what it sends, in ms: its headers, the whole request, and what is left of one that was answered. */
export type Patience = { headersMs: number; requestMs: number; restMs: number }
const PATIENCE: Patience = { headersMs: 20_000, requestMs: 60_000, restMs: 1_000 }

/**
 * Listens on `port`, or on a free one when it is 0, of the address `host`, or of all addresses when it is empty. What is
 * not HTTP, too large or too slow is answered as JSON.
 * @throws when the port is taken
 */
export const listen = async (
  handler: RequestListener,
  port: number,
  host = '',
  { headersMs, requestMs, restMs }: Patience = PATIENCE,
): Promise<HttpServer> => {
  const server = createServer({
    keepAliveTimeout: KEEP_ALIVE_MS,
    headersTimeout: headersMs,
    requestTimeout: requestMs,
    connectionsCheckingInterval: Math.min(headersMs, 5_000),
    // Node would answer without a body; `handle` does it.
    requireHostHeader: false,
    // A request without a body is given none, instead of a stream that has to end.
    optimizeEmptyRequests: true,
  })
  // By connection, since a connection that has no request under way is closed at once when the server stops.
  const connections = new Map<Socket, ServerResponse[]>()
  let stopping = false

  const handle = (req: IncomingMessage, res: ServerResponse): void => {
    const underWay = connections.get(req.socket) ?? []
    underWay.push(res)
    res.on('close', () => {
      underWay.splice(underWay.indexOf(res), 1)
      dropRest(req, restMs)
    })
    if (stopping) lastOfItsConnection(res)
    if (req.headers.host === undefined && req.httpVersion === '1.1')
      refuse(res, 400, 'The Host header is missing')
    else handler(req, res)
  }
  server.on('request', handle)
  server.on('checkExpectation', (_req, res) => refuse(res, 417, 'No such expectation can be met'))
  server.on('connect', (_req, connection) => {
    // Nobody listens to it any more.
    connection.on('error', () => connection.destroy())
    connection.resume()
    refuseConnection(connection, { status: 405, message: 'This is no proxy' }, restMs)
  })
  const refused = new WeakSet<object>()
  server.on('clientError', (error, connection) => {
    // Whatever still comes on it is no better.
    if (refused.has(connection)) return
    refused.add(connection)
    const answering = connections.get(connection as Socket)?.some((res) => res.headersSent) ?? false
    if (connection.writable && !answering) refuseConnection(connection, reasonFor(error), restMs)
    else connection.destroy()
  })
  server.on('connection', (connection) => {
    connections.set(connection, [])
    connection.once('close', () => connections.delete(connection))
  })
  server.listen({ port, ...(host !== '' && { host }) })
  await once(server, 'listening')

  return {
    port: (server.address() as AddressInfo).port,
    stop: async ({ drainMs = 0 } = {}) => {
      stopping = true
      for (const underWay of connections.values()) for (const res of underWay) lastOfItsConnection(res)
      if (drainMs > 0) await sleep(drainMs)
      const closed = once(server, 'close')
      server.close()
      // A connection on which nothing was ever asked counts as busy for Node, and would hold up the end.
      for (const [connection, underWay] of connections) if (underWay.length === 0) connection.destroy()
      const impatient = setTimeout(() => server.closeAllConnections(), FINISH_MS)
      await closed
      clearTimeout(impatient)
    },
  }
}

const refuse = (res: ServerResponse, status: number, message: string): void => {
  const body = JSON.stringify({ error: message })
  res.writeHead(status, {
    'Content-Type': 'application/json; charset=utf-8',
    'Content-Length': body.length,
    'X-Request-Id': requestIdOf(undefined),
    Connection: 'close',
  })
  res.end(body)
}

/** Reads on for a moment after an answer that did not wait for the whole request: closed at once, a client could miss it. */
const dropRest = (req: IncomingMessage, ms: number): void => {
  if (req.complete) return
  req.resume()
  const impatient = setTimeout(() => {
    // By now the connection may be another request's.
    if (!req.complete) req.socket.destroy()
  }, ms)
  impatient.unref()
}

/** Tells the client not to send another request on this connection, which ends with the answer. */
const lastOfItsConnection = (res: ServerResponse): void => {
  if (!res.headersSent) res.setHeader('Connection', 'close')
}

/** What Node's parser calls the errors that have a status of their own; the others are bad requests. */
const REASONS: Readonly<Record<string, { status: number; message: string }>> = {
  HPE_HEADER_OVERFLOW: { status: 431, message: 'The request line and headers are too large' },
  HPE_CHUNK_EXTENSIONS_OVERFLOW: { status: 413, message: 'The chunk extensions are too large' },
  ERR_HTTP_REQUEST_TIMEOUT: { status: 408, message: 'The request did not arrive in time' },
}
const MALFORMED = { status: 400, message: 'The request is not HTTP' }

/** Why a connection is refused on which something else than a request arrived, or too little in time. */
export const reasonFor = (error: Error): { status: number; message: string } =>
  REASONS[`${(error as NodeJS.ErrnoException).code}`] ?? MALFORMED

/**
 * Answers on a bare connection in the form that every error has, and closes it. A client that is still sending has
 * `restMs` to read the answer: closed at once, it could miss it.
 */
export const refuseConnection = (
  connection: Duplex,
  { status, message }: { status: number; message: string },
  restMs: number,
): void => {
  const body = JSON.stringify({ error: message })
  const head = [
    `HTTP/1.1 ${status} ${STATUS_CODES[status]}`,
    'Content-Type: application/json; charset=utf-8',
    `Content-Length: ${Buffer.byteLength(body)}`,
    'X-Content-Type-Options: nosniff',
    `X-Request-Id: ${requestIdOf(undefined)}`,
    'Connection: close',
  ]
  connection.end(`${head.join('\r\n')}\r\n\r\n${body}`)
  const impatient = setTimeout(() => connection.destroy(), restMs)
  connection.once('close', () => clearTimeout(impatient))
}

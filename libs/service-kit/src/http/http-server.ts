import { once } from 'node:events'
import {
  createServer,
  IncomingMessage,
  type RequestListener,
  type ServerOptions,
  ServerResponse,
  STATUS_CODES,
} from 'node:http'
import type { AddressInfo, Socket } from 'node:net'
import type { Duplex } from 'node:stream'
import type { Express } from 'express'
import { requestIdOf, useTargetAsPath } from './request.ts'

type MessageClasses = Required<Pick<ServerOptions, 'IncomingMessage' | 'ServerResponse'>>

const classesOfApps = new WeakMap<RequestListener, MessageClasses>()

/**
 * Creates classes for the requests and responses of an app, which `messageClassesOf` returns. Express sets the prototype of
 * each message, which makes all later uses of it slow unless it has that prototype already.
 */
export const useOwnPrototypes = (app: Express): void => {
  class AppRequest extends IncomingMessage {}
  class AppResponse<R extends IncomingMessage = IncomingMessage> extends ServerResponse<R> {}
  Object.setPrototypeOf(AppRequest.prototype, app.request)
  Object.setPrototypeOf(AppResponse.prototype, app.response)
  Object.assign(app, { request: AppRequest.prototype, response: AppResponse.prototype })
  classesOfApps.set(app, { IncomingMessage: AppRequest, ServerResponse: AppResponse })
}

/** The classes with which a server creates the messages of an app. Empty for other listeners. */
const messageClassesOf = (handler: RequestListener): Partial<MessageClasses> =>
  classesOfApps.get(handler) ?? {}

const endless = new WeakMap<Socket, () => void>()

/**
 * Has the answer of a request end when the server stops, because it has no end of its own. `end` ends it. Default: the
 * connection is destroyed.
 */
export const closeAtStop = (
  { socket }: IncomingMessage,
  end: () => void = () => void socket.destroy(),
): void => {
  endless.set(socket, end)
}

/**
 * A listening server. `stop` accepts requests for another `drainMs`, while it asks clients to close their connections so
 * that a proxy sends them elsewhere. Then it finishes the requests in flight and closes.
 */
export type HttpServer = { port: number; stop(options?: { drainMs?: number }): Promise<void> }

// Longer than the idle timeout of common proxies, so that they close idle connections first.
const KEEP_ALIVE_MS = 75_000
/** Time for requests in flight to finish at a stop, in ms. */
const FINISH_MS = 5_000

/** Time for a client to send its headers, the whole request, and the rest of an answered request, in ms. */
type ClientTimeouts = { headersMs: number; requestMs: number; restMs: number }
const TIMEOUTS: ClientTimeouts = { headersMs: 20_000, requestMs: 60_000, restMs: 1_000 }

/**
 * Listens on `port`, or on a free one when it is 0. An empty `host` means all addresses. Requests that are not HTTP, too
 * large or too slow get a JSON error.
 * @throws when the port is taken
 */
export const listen = async (
  handler: RequestListener,
  port: number,
  host = '',
  { headersMs, requestMs, restMs }: ClientTimeouts = TIMEOUTS,
): Promise<HttpServer> => {
  const server = createServer({
    ...messageClassesOf(handler),
    keepAliveTimeout: KEEP_ALIVE_MS,
    headersTimeout: headersMs,
    requestTimeout: requestMs,
    connectionsCheckingInterval: Math.min(headersMs, 5_000),
    // `handle` does it, because Node.js would answer without a body.
    requireHostHeader: false,
    optimizeEmptyRequests: true,
  })
  // The responses in flight, by connection.
  const connections = new Map<Socket, ServerResponse[]>()
  let stopping = false

  const handle = (req: IncomingMessage, res: ServerResponse): void => {
    const inFlight = connections.get(req.socket) ?? []
    inFlight.push(res)
    res.on('close', () => {
      inFlight.splice(inFlight.indexOf(res), 1)
      dropRest(req, res, restMs)
    })
    if (stopping) closeAfter(res)
    const hosts = countHosts(req)
    if (hosts === 0 && req.httpVersion === '1.1') refuse(res, 400, 'The Host header is missing')
    else if (hosts > 1) refuse(res, 400, 'There is more than one Host header')
    else {
      useTargetAsPath(req)
      handler(req, res)
    }
  }
  server.on('request', handle)
  server.on('checkExpectation', (_req, res) => refuse(res, 417, 'No such expectation can be met'))
  server.on('connect', (_req, connection) => {
    // Node.js has removed its own listeners.
    connection.on('error', () => connection.destroy())
    connection.resume()
    refuseConnection(connection, { status: 405, message: 'This is no proxy' }, restMs)
  })
  const refused = new WeakSet<object>()
  server.on('clientError', (error, connection) => {
    // Only the first error of a connection is answered.
    if (refused.has(connection)) return
    refused.add(connection)
    const answering = connections.get(connection as Socket)?.some((res) => res.headersSent) ?? false
    if (connection.writable && !answering) refuseConnection(connection, reasonFor(error), restMs)
    else connection.destroy()
  })
  server.on('connection', (connection) => {
    connections.set(connection, [])
    closeAfterRest(connection, () => connections.get(connection)?.some(({ req }) => !req.complete) ?? false)
    connection.once('close', () => connections.delete(connection))
  })
  server.listen({ port, ...(host !== '' && { host }) })
  await once(server, 'listening')

  return {
    port: (server.address() as AddressInfo).port,
    stop: async ({ drainMs = 0 } = {}) => {
      stopping = true
      for (const inFlight of connections.values()) for (const res of inFlight) closeAfter(res)
      // The global timer, which tests can advance.
      if (drainMs > 0) await new Promise((resolve) => setTimeout(resolve, drainMs))
      const closed = once(server, 'close')
      server.close()
      // Node.js waits for connections without any request.
      for (const [connection, inFlight] of connections) {
        if (inFlight.length === 0) connection.destroy()
        else endless.get(connection)?.()
      }
      const timer = setTimeout(() => server.closeAllConnections(), FINISH_MS)
      await closed
      clearTimeout(timer)
    },
  }
}

/** How many `Host` headers a request has. Node.js uses the first one, and a proxy may use another. */
const countHosts = ({ rawHeaders }: IncomingMessage): number =>
  rawHeaders.filter((name, index) => name.length === 4 && index % 2 === 0 && name.toLowerCase() === 'host')
    .length

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

/** Reads the rest of a request that was answered early for `ms`. Closing at once could make the client miss the answer. */
const dropRest = (req: IncomingMessage, res: ServerResponse, ms: number): void => {
  if (req.complete) return
  req.resume()
  if (!res.shouldKeepAlive) req.once('end', () => req.socket.destroySoon())
  setTimeout(() => {
    // A completed request may share its connection with the next one.
    if (!req.complete) req.socket.destroy()
  }, ms).unref()
}

/**
 * Node.js destroys the connection after an answer with `Connection: close`. A proxy that is still sending the request would
 * miss the answer, so the connection remains open for the rest of the request.
 */
const closeAfterRest = (connection: Socket, isReceiving: () => boolean): void => {
  const destroySoon = connection.destroySoon.bind(connection)
  connection.destroySoon = () => {
    if (isReceiving()) connection.end()
    else destroySoon()
  }
}

/** Makes the connection end with this response. */
const closeAfter = (res: ServerResponse): void => {
  if (!res.headersSent) res.setHeader('Connection', 'close')
}

/** Error codes of Node.js with their own status. All others mean a bad request. */
const REASONS: Readonly<Record<string, { status: number; message: string }>> = {
  HPE_HEADER_OVERFLOW: { status: 431, message: 'The request line and headers are too large' },
  HPE_CHUNK_EXTENSIONS_OVERFLOW: { status: 413, message: 'The chunk extensions are too large' },
  ERR_HTTP_REQUEST_TIMEOUT: { status: 408, message: 'The request did not arrive in time' },
}
const MALFORMED = { status: 400, message: 'The request is not HTTP' }

/** The status and message for an error of Node's HTTP parser. */
const reasonFor = (error: Error): { status: number; message: string } =>
  REASONS[`${(error as NodeJS.ErrnoException).code}`] ?? MALFORMED

/** Sends a JSON error on a connection without a request, and closes it after at most `restMs`. */
const refuseConnection = (
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
  const timer = setTimeout(() => connection.destroy(), restMs)
  connection.once('close', () => clearTimeout(timer))
}

import { once } from 'node:events'
import {
  constants,
  createServer,
  type IncomingHttpHeaders,
  type ServerHttp2Session,
  type ServerHttp2Stream,
} from 'node:http2'
import type { AddressInfo } from 'node:net'
import { AppError, type ErrorCode } from '@waymark/contracts/app-error'
import type { Log } from '@waymark/contracts/log'
import { messageIn } from './grpc-messages.ts'

/** Status codes of gRPC. */
export const grpcStatus = {
  ok: 0,
  invalidArgument: 3,
  permissionDenied: 7,
  resourceExhausted: 8,
  unimplemented: 12,
  internal: 13,
  unavailable: 14,
  unauthenticated: 16,
} as const
type GrpcStatus = (typeof grpcStatus)[keyof typeof grpcStatus]

/** A call with one message. */
export type GrpcCall = { metadata: IncomingHttpHeaders; message: Buffer; ip: string }

/** The answer to a call, message by message. Messages are frames, which calls may share. */
export type GrpcReply = {
  send: (frame: Buffer) => void
  end: (status?: GrpcStatus, message?: string) => void
  destroy: () => void
  /** Bytes that wait in this process until the client accepts them. */
  readonly waiting: number
  onClose: (listener: () => void) => void
}

/** Answers a call. It may return before it has ended the reply. @throws AppError */
type GrpcMethod = (call: GrpcCall, reply: GrpcReply) => Promise<void>

/** A listening server. `stop` ends the calls in flight, so that clients call another process. */
export type GrpcServer = { port: number; stop: () => Promise<void> }

/** Of a request, with a key and a selector. */
const MAX_MESSAGE_BYTES = 4_096
const MESSAGE_TIMEOUT_MS = 10_000
/** A connection that does not answer within this time is closed, in ms. */
const PING_MS = 20_000
const MAX_STREAMS_PER_CONNECTION = 2_000
/** Memory of a connection beyond which it opens no streams, in MB. */
const MAX_SESSION_MB = 64
const FINISH_MS = 2_000

/**
 * Serves gRPC without TLS on `port`, or on a free one when it is 0. Methods are by their paths. On node:http2 rather than a
 * library, because a message that many streams get is then one buffer: see docs/adr/0046-sync-of-flags.md.
 * @throws when the port is taken
 */
export const listenForGrpc = async (
  methods: ReadonlyMap<string, GrpcMethod>,
  log: Log,
  port: number,
  host = '',
): Promise<GrpcServer> => {
  const sessions = new Map<ServerHttp2Session, { answered: boolean }>()
  const replies = new Set<GrpcReply>()

  const answer = async (stream: ServerHttp2Stream, headers: IncomingHttpHeaders): Promise<void> => {
    const reply = replyOn(stream)
    replies.add(reply)
    reply.onClose(() => replies.delete(reply))
    const method = methods.get(`${headers[':path']}`)
    try {
      if (!method) return reply.end(grpcStatus.unimplemented, 'There is no such method')
      const message = await readMessage(stream)
      const ip = stream.session?.socket.remoteAddress ?? ''
      await method({ metadata: headers, message, ip }, reply)
    } catch (error) {
      if (stream.destroyed || stream.closed) return
      if (!(error instanceof AppError)) log.error({ err: error }, 'Call failed')
      reply.end(...statusOf(error))
    }
  }

  const server = createServer({
    settings: { maxConcurrentStreams: MAX_STREAMS_PER_CONNECTION },
    maxSessionMemory: MAX_SESSION_MB,
  })
  server.on('session', (session) => {
    sessions.set(session, { answered: true })
    session.once('close', () => sessions.delete(session))
  })
  server.on('sessionError', () => {})
  server.on('stream', (stream, headers) => {
    stream.on('error', () => {})
    if (!`${headers['content-type']}`.startsWith('application/grpc')) {
      stream.respond({ ':status': 415 }, { endStream: true })
      return
    }
    void answer(stream, headers)
  })
  server.listen({ port, ...(host !== '' && { host }) })
  await once(server, 'listening')

  const timer = setInterval(() => {
    for (const [session, state] of sessions) {
      if (!state.answered) session.destroy()
      else
        state.answered = !session.ping(() => {
          state.answered = true
        })
    }
  }, PING_MS)

  return {
    port: (server.address() as AddressInfo).port,
    stop: async () => {
      clearInterval(timer)
      const closed = once(server, 'close')
      server.close()
      for (const reply of replies) reply.end(grpcStatus.unavailable, 'The server stops: call another one')
      for (const session of sessions.keys()) session.close()
      const forced = setTimeout(() => {
        for (const session of sessions.keys()) session.destroy()
      }, FINISH_MS)
      await closed
      clearTimeout(forced)
    },
  }
}

/** The first message of a call. @throws AppError bad_request */
const readMessage = async (stream: ServerHttp2Stream): Promise<Buffer> => {
  const chunks: Buffer[] = []
  let length = 0
  const timer = setTimeout(() => stream.close(constants.NGHTTP2_CANCEL), MESSAGE_TIMEOUT_MS)
  try {
    for await (const chunk of stream.iterator({ destroyOnReturn: false })) {
      length += chunk.length
      if (length > MAX_MESSAGE_BYTES)
        throw new AppError('bad_request', `The message has more than ${MAX_MESSAGE_BYTES} bytes`)
      chunks.push(chunk)
    }
  } finally {
    clearTimeout(timer)
  }
  try {
    return messageIn(Buffer.concat(chunks))
  } catch (error) {
    throw new AppError('bad_request', (error as Error).message)
  }
}

const TYPE = { ':status': 200, 'content-type': 'application/grpc' }

const replyOn = (stream: ServerHttp2Stream): GrpcReply => {
  let trailers = {}
  return {
    send: (frame) => {
      if (stream.destroyed || stream.closed || stream.writableEnded) return
      if (!stream.headersSent) {
        stream.respond(TYPE, { waitForTrailers: true })
        stream.once('wantTrailers', () => stream.sendTrailers(trailers))
      }
      stream.write(frame)
    },
    end: (status = grpcStatus.ok, message = '') => {
      if (stream.destroyed || stream.closed || stream.writableEnded) return
      trailers = { 'grpc-status': status, ...(message && { 'grpc-message': encodeURIComponent(message) }) }
      if (stream.headersSent) stream.end()
      else stream.respond({ ...TYPE, ...trailers }, { endStream: true })
    },
    destroy: () => stream.close(constants.NGHTTP2_CANCEL),
    get waiting() {
      return stream.writableLength
    },
    onClose: (listener) => void stream.once('close', listener),
  }
}

const STATUSES: Partial<Record<ErrorCode, GrpcStatus>> = {
  bad_request: grpcStatus.invalidArgument,
  unauthorized: grpcStatus.unauthenticated,
  forbidden: grpcStatus.permissionDenied,
  rate_limited: grpcStatus.resourceExhausted,
  overloaded: grpcStatus.unavailable,
  store_unavailable: grpcStatus.unavailable,
}

const statusOf = (error: unknown): [GrpcStatus, string] =>
  error instanceof AppError
    ? [STATUSES[error.code] ?? grpcStatus.internal, error.message]
    : [grpcStatus.internal, 'Internal error']

import { randomUUID } from 'node:crypto'
import type { IncomingHttpHeaders, IncomingMessage } from 'node:http'
import { AppError } from '@waymark/contracts/app-error'
import type { Operation } from '@waymark/contracts/http/operation'
import type { ValidationItem } from '@waymark/contracts/http/track-result'
import { unknownField } from '@waymark/contracts/problem-message'
import type { Request, Response } from 'express'

/** Headers of a reply, by their canonical names. */
export type ReplyHeaders = Record<string, string | string[]>

type Deadline = {
  /** Time beyond the operation's deadline, in ms. */
  extraMs: number
  /** Runs until the deadline, once the route is known. */
  timer: NodeJS.Timeout | undefined
  /** Creates the error when the deadline passes. Default: `storeUnavailable`. */
  lateError: ((cause: Error) => AppError) | undefined
}

/** One HTTP request. */
export type HttpRequest = {
  /** The request id in logs, in the audit log, and in the header `X-Request-Id` of the reply. */
  readonly id: string
  /** In upper case. The handlers of `GET` also answer `HEAD`. */
  readonly method: string
  /** Path and query as received, also of a request for a whole URL. */
  readonly url: string
  /** The path as received, still encoded. */
  readonly path: string
  /** The parameters of the operation's path, decoded. */
  params: Readonly<Record<string, string>>
  readonly headers: IncomingHttpHeaders
  /** The address of the client behind trusted proxies. Empty when the connection is already closed. */
  readonly ip: string
  /** Whether it came through a trusted proxy, so that its `X-Forwarded-*` headers are used. */
  readonly byTrustedProxy: boolean
  /** The request of Express, a message of Node.js. Its body can be read once. */
  readonly message: Request
  /** Headers of the reply or error. The headers of a reply override them. */
  readonly replyHeaders: ReplyHeaders
  /** Its deadline; see `extendDeadline` and `answerLateWith`. */
  readonly deadline: Deadline
  /**
   * Calls `listener` with the status once the answer was sent, or with undefined when the client disconnected before; at
   * once when that has happened.
   */
  onEnd(listener: (status: number | undefined) => void): void
}

/** Creates the request of a message, before its route is known. */
export const createRequest = (
  message: Request,
  response: Pick<Response, 'once' | 'closed' | 'writableFinished' | 'statusCode'>,
  trustedProxies: number,
): HttpRequest => {
  const { method, url, headers } = message
  const id = requestIdOf(headers['x-request-id'])
  const listeners: ((status: number | undefined) => void)[] = []
  const status = () => (response.writableFinished ? response.statusCode : undefined)
  response.once('close', () => {
    for (const listener of listeners) listener(status())
  })
  return {
    id,
    method,
    url,
    path: pathOf(url),
    params: {},
    headers,
    ip: (trustedProxies === 0 ? message.socket.remoteAddress : withoutPort(message.ip ?? '')) ?? '',
    byTrustedProxy: trustedProxies > 0,
    message,
    replyHeaders: { 'X-Request-Id': id },
    deadline: { extraMs: 0, timer: undefined, lateError: undefined },
    onEnd: (listener) => {
      if (response.closed) listener(status())
      else listeners.push(listener)
    },
  }
}

/** Aborts when the client disconnects before the answer was sent, with an AppError that is no error of the server. */
export const disconnectSignal = ({ onEnd }: Pick<HttpRequest, 'onEnd'>): AbortSignal => {
  const controller = new AbortController()
  onEnd((status) => {
    if (status === undefined)
      controller.abort(new AppError('bad_request', 'The client closed the connection'))
  })
  return controller.signal
}

// A client may send an absolute URL, as to a proxy.
const ORIGIN = /^https?:\/\/(?:[^/?#]*@)?([^/?#]*)/i

/**
 * Turns the target of a request into a path. The host of an absolute URL overrides `Host` (RFC 9112, 3.2.2). Any other
 * target becomes a path that no route has.
 */
export const useTargetAsPath = (message: Pick<IncomingMessage, 'url' | 'headers'>): void => {
  const { url = '' } = message
  if (url.startsWith('/')) return
  const host = ORIGIN.exec(url)?.[1]
  if (host) message.headers.host = host
  const target = url.replace(ORIGIN, '')
  message.url = target.startsWith('/') ? target : `/${target}`
}

const pathOf = (url: string): string => {
  const end = url.search(/[?#]/)
  return end === -1 ? url : url.slice(0, end)
}

/** The protocol that the client used: `http` or `https`. */
export const protocolOf = ({ headers, message, byTrustedProxy }: HttpRequest): string => {
  const own = 'encrypted' in message.socket ? 'https' : 'http'
  return (byTrustedProxy && firstOf(headers['x-forwarded-proto'])) || own
}

/** The host and port to which the client sent the request, if known. */
export const requestHostOf = ({ headers, byTrustedProxy }: HttpRequest): string | undefined =>
  (byTrustedProxy && firstOf(headers['x-forwarded-host'])) || headers.host

// Each proxy appends its value, so the first one is the client's.
const firstOf = (header: string | string[] | undefined): string =>
  `${header ?? ''}`.split(',', 1)[0]?.trim() ?? ''

/** The query string of a URL without `?`. Empty when there is none. */
export const queryTextOf = (url: string): string => {
  const start = url.indexOf('?')
  return start === -1 ? '' : url.slice(start + 1)
}

/** The query parameters of a URL. Undefined when it has no query. */
export const queryOf = (url: string): URLSearchParams | undefined => {
  const text = queryTextOf(url)
  return text === '' ? undefined : new URLSearchParams(text)
}

/** Whether the client, such as a browser, prefers HTML to JSON. */
export const prefersHtml = ({ message }: Pick<HttpRequest, 'message'>): boolean =>
  message.accepts(['json', 'html']) === 'html'

/** Whether the client accepts Brotli compression. */
export const acceptsBrotli = ({ message }: Pick<HttpRequest, 'message'>): boolean =>
  message.acceptsEncodings('br') === 'br'

const REQUEST_ID = /^[\w.:-]{1,100}$/

/** The request id that the client sent, if it is valid, or else a new one. */
export const requestIdOf = (given: string | string[] | undefined): string =>
  typeof given === 'string' && REQUEST_ID.test(given) ? given : randomUUID()

const IPV4_WITH_PORT = /^(\d{1,3}(?:\.\d{1,3}){3}):\d{1,5}$/
const IPV6_IN_BRACKETS = /^\[([^\]]*)\](?::\d{1,5})?$/

/** An address in `X-Forwarded-For` without the port that some proxies append. */
export const withoutPort = (address: string): string =>
  IPV4_WITH_PORT.exec(address)?.[1] ?? IPV6_IN_BRACKETS.exec(address)?.[1] ?? address

const MAX_SHOWN_LENGTH = 64

/**
 * Problems for query parameters that the operation does not document. A filter with a typo would otherwise match
 * everything. Their values are not repeated, because one may be a key.
 */
export const unknownParameters = (operation: Pick<Operation, 'query'>, url: string): ValidationItem[] => {
  const known = parametersOf(operation)
  const unknown = namesIn(url).filter((name) => !known.includes(name))
  if (unknown.length === 0) return []
  const message = unknownField(known, 'query parameter')
  return [...new Set(unknown)].map((name) => ({ field: shown(name), rule: 'additionalProperties', message }))
}

/** Checks that a query has only documented parameters, each once. @throws AppError bad_request */
export const requireKnownQuery = (operation: Pick<Operation, 'query'>, url: string): void => {
  const [unknown] = unknownParameters(operation, url)
  if (unknown) throw new AppError('bad_request', `${unknown.field} ${unknown.message}`)
  const repeated = namesIn(url).find((name, at, names) => names.indexOf(name) < at)
  if (repeated !== undefined) throw new AppError('bad_request', `${shown(repeated)} is given more than once`)
}

const namesIn = (url: string): string[] => [...(queryOf(url)?.keys() ?? [])]
const parametersOf = ({ query }: Pick<Operation, 'query'>): string[] =>
  Object.keys((query?.schema as { properties?: object } | undefined)?.properties ?? {})
const shown = (name: string): string => name.slice(0, MAX_SHOWN_LENGTH).toWellFormed() || '""'

const CONFIG_VERSION = 'x-config-version'
/** Versions are of 64 bits in the database. */
const VERSION = /^\d{1,19}$/

/** The version of the configuration that a request asks for; undefined when it names none. */
export const configVersionOf = ({ headers }: Pick<HttpRequest, 'headers'>): string | undefined => {
  const version = headers[CONFIG_VERSION]
  return typeof version === 'string' && VERSION.test(version) ? version : undefined
}

/** @throws AppError bad_request when the header `X-Config-Version` is not a version */
export const requireUsableVersion = (request: Pick<HttpRequest, 'headers'>): void => {
  const sent = request.headers[CONFIG_VERSION]
  if (sent === undefined || configVersionOf(request) !== undefined) return
  const received = JSON.stringify(`${sent}`.slice(0, MAX_SHOWN_LENGTH).toWellFormed())
  throw new AppError(
    'bad_request',
    `The header X-Config-Version must be the value that a write answered, an integer from 0 up; got ${received}`,
  )
}

import { randomUUID } from 'node:crypto'
import type { IncomingHttpHeaders, IncomingMessage, ServerResponse } from 'node:http'
import { AppError, type Operation, unknownField, type ValidationItem } from '@waymark/contracts'
import Negotiator from 'negotiator'
import proxyAddr from 'proxy-addr'

/** Headers of an answer, by their usual spelling. */
export type ReplyHeaders = Record<string, string | string[]>

/** What a handler may change about the deadline of its request. */
export type Deadline = {
  /** Time beyond the operation's deadline, in ms. */
  extraMs: number
  /** The error of a late answer, unless a store is late. */
  lateError?: ((cause: Error) => AppError) | undefined
}

/** One HTTP request, as handlers see it. */
export type HttpRequest = {
  /** Names it in logs, in the audit log, and in the header `X-Request-Id` of its answer. */
  readonly id: string
  /** In capitals. `HEAD` is answered by the handlers of `GET`. */
  readonly method: string
  /** Path and query as they were sent. */
  readonly url: string
  /** The path as it was sent, still encoded. */
  readonly path: string
  /** The parameters of the operation's path, decoded. */
  params: Readonly<Record<string, string>>
  readonly headers: IncomingHttpHeaders
  /** The client's address, with regard to trusted proxies; empty when its connection was gone already. */
  readonly ip: string
  /** Whether a trusted proxy sent it, whose `X-Forwarded-*` headers count. */
  readonly byTrustedProxy: boolean
  /** What came, for the body to be read from, once. */
  readonly message: IncomingMessage
  /** Headers of its answer, whether that is a reply or an error. A reply's own take their place. */
  readonly replyHeaders: ReplyHeaders
  /** How long its answer may take; see `extendDeadline` and `answerLateWith`. */
  readonly deadline: Deadline
  /** Calls `listener` once the answer was sent, with its status, or with undefined when the client has left before. */
  onEnd(listener: (status: number | undefined) => void): void
}

/** The request that a message of Node's server is, before its route is known. */
export const createRequest = (
  message: IncomingMessage,
  response: ServerResponse,
  trustedProxies: number,
): HttpRequest => {
  const { method = '', url = '', headers } = message
  const id = requestIdOf(headers['x-request-id'])
  const listeners: ((status: number | undefined) => void)[] = []
  response.once('close', () => {
    const status = response.writableFinished ? response.statusCode : undefined
    for (const listener of listeners) listener(status)
  })
  return {
    id,
    method,
    url,
    path: pathOf(url),
    params: {},
    headers,
    ip: addressOf(message, trustedProxies),
    byTrustedProxy: trustedProxies > 0,
    message,
    replyHeaders: { 'X-Request-Id': id },
    deadline: { extraMs: 0 },
    onEnd: (listener) => void listeners.push(listener),
  }
}

const addressOf = (message: IncomingMessage, trustedProxies: number): string =>
  (trustedProxies === 0
    ? message.socket.remoteAddress
    : withoutPort(proxyAddr(message, (_address, hop) => hop < trustedProxies))) ?? ''

const ORIGIN = /^https?:\/\/[^/?#]*/i

// A client may send a whole URL, as it would to a proxy.
const pathOf = (url: string): string => {
  const target = url.startsWith('/') ? url : url.replace(ORIGIN, '') || '/'
  const end = target.search(/[?#]/)
  return end === -1 ? target : target.slice(0, end)
}

/** `http` or `https`: what the client used, as far as it is known. */
export const protocolOf = ({ headers, message, byTrustedProxy }: HttpRequest): string => {
  const own = 'encrypted' in message.socket ? 'https' : 'http'
  return (byTrustedProxy && firstOf(headers['x-forwarded-proto'])) || own
}

/** The host and port that the client sent the request to, as far as they are known; else undefined. */
export const hostOf = ({ headers, byTrustedProxy }: HttpRequest): string | undefined =>
  (byTrustedProxy && firstOf(headers['x-forwarded-host'])) || headers.host

// Proxies between that one and us append what they saw.
const firstOf = (header: string | string[] | undefined): string =>
  `${header ?? ''}`.split(',', 1)[0]?.trim() ?? ''

/** What stands behind the `?` of a URL; empty when it has none. */
export const queryTextOf = (url: string): string => {
  const start = url.indexOf('?')
  return start === -1 ? '' : url.slice(start + 1)
}

/** The parameters of a URL's query; undefined when it has no query. */
export const queryOf = (url: string): URLSearchParams | undefined => {
  const text = queryTextOf(url)
  return text === '' ? undefined : new URLSearchParams(text)
}

/** Whether the client, such as a browser, would rather have a page than JSON. */
export const prefersHtml = ({ headers }: Pick<HttpRequest, 'headers'>): boolean =>
  new Negotiator({ headers }).mediaType(['application/json', 'text/html']) === 'text/html'

/** Whether the client takes an answer that is compressed by Brotli. */
export const acceptsBrotli = ({ headers }: Pick<HttpRequest, 'headers'>): boolean =>
  new Negotiator({ headers }).encodings(['br']).includes('br')

const REQUEST_ID = /^[\w.:-]{1,100}$/

/** What a request goes by in answers and logs: the id that it brought, if that is a usable one, or else a new one. */
export const requestIdOf = (given: string | string[] | undefined): string =>
  typeof given === 'string' && REQUEST_ID.test(given) ? given : randomUUID()

const IPV4_WITH_PORT = /^(\d{1,3}(?:\.\d{1,3}){3}):\d{1,5}$/
const IPV6_IN_BRACKETS = /^\[([^\]]*)\](?::\d{1,5})?$/

/** A client's address without the port that some proxies write behind it in `X-Forwarded-For`. */
export const withoutPort = (address: string): string =>
  IPV4_WITH_PORT.exec(address)?.[1] ?? IPV6_IN_BRACKETS.exec(address)?.[1] ?? address

const MAX_SHOWN_LENGTH = 64

/**
 * The parameters of a query that its operation does not document: a filter with a typing error would match everything.
 * Their values are never repeated: one may be a key.
 */
export const unknownParameters = (operation: Pick<Operation, 'query'>, url: string): ValidationItem[] => {
  const known = parametersOf(operation)
  const message = unknownField(known, 'query parameter')
  const unknown = namesIn(url).filter((name) => !known.includes(name))
  return [...new Set(unknown)].map((name) => ({ field: shown(name), rule: 'additionalProperties', message }))
}

/** Checks that a query has only parameters that its operation documents, each once. @throws AppError bad_request */
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

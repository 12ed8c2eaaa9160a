import type { IncomingMessage, RequestListener } from 'node:http'
import type { Endpoint } from '@waymark/contracts'
import type { RequestHandler } from 'express'
import type { TraceRequest } from '../tracing/trace-requests.ts'
import { startDeadline } from './answer-within.ts'
import { crossOriginHeaders, isPublicApi } from './cors.ts'
import { endTogether } from './end-together.ts'
import { requestIdOf } from './request-id.ts'
import type { DirectHandler, Exchange, Route } from './route.ts'

type DirectRoute = Route & { direct: DirectHandler }
/** A request that a direct route has begun and Express is to finish. */
type Handed = { error?: unknown; headers: string[] }

export type DirectRoutesOptions = {
  routes: readonly Route[]
  clientOf: (req: IncomingMessage) => string
  /** Hears of each answer, and when its request came, in ms by `performance.now()`. */
  observe: (operation: Endpoint, status: number, startedAt: number) => void
  /** Gives requests spans; nothing is traced without. */
  trace: ((operation: Endpoint) => TraceRequest) | undefined
}

// Of those that pages get, what matters for an answer that no browser shows.
const SECURITY = [
  'Strict-Transport-Security',
  'max-age=31536000; includeSubDomains',
  'X-Content-Type-Options',
  'nosniff',
]

/** The short way past Express for routes that have one. */
export const createDirectRoutes = ({ routes, clientOf, observe, trace }: DirectRoutesOptions) => {
  const find = findBySpelling(routes.filter(isDirect))
  const traces = new Map(routes.map((route) => [route, trace?.(route.operation)]))
  const handed = new WeakMap<IncomingMessage, Handed>()

  const headersFor = ({ headers, url = '' }: IncomingMessage): string[] => [
    'X-Request-Id',
    requestIdOf(headers['x-request-id']),
    ...SECURITY,
    ...(isPublicApi(url) ? crossOriginHeaders(headers.origin) : []),
  ]

  return {
    /** Answers what is spelled exactly as a direct route, and leaves everything else to `express`. */
    before:
      (express: RequestListener): RequestListener =>
      (req, res) => {
        const found = find(req.method, req.url ?? '')
        if (!found) return express(req, res)
        const { route, parameter } = found
        const startedAt = performance.now()
        const exchange = { req, res, parameter, ip: clientOf(req), headers: headersFor(req) }
        const finish = (answered: boolean): void => {
          if (!answered) handOver({ headers: [] })
          else if (!handed.has(req)) observe(route.operation, res.statusCode, startedAt)
        }
        const handOver = (what: Handed): void => {
          // It was given up before; nobody listens to what has become of it.
          if (handed.has(req)) return
          handed.set(req, what)
          express(req, res)
        }
        const fail = (error: unknown): void => handOver({ error, headers: exchange.headers })
        const answer = (): void => {
          try {
            const answered = route.direct(exchange)
            if (typeof answered === 'boolean') finish(answered)
            else {
              startDeadline(route.operation, req, res, fail)
              answered.then(finish, fail)
            }
          } catch (error) {
            fail(error)
          }
        }
        const traced = traces.get(route)
        if (traced) traced(req, res, answer, exchange.headers[1])
        else answer()
      },

    /** The same in Express, for other spellings of the path, and for what a direct route has left or thrown. */
    handlerOf:
      (direct: DirectHandler): RequestHandler =>
      async (req, res, next) => {
        const exchange = {
          req,
          res,
          parameter: String(Object.values(req.params)[0] ?? ''),
          ip: req.ip ?? '',
          headers: handed.get(req)?.headers ?? [],
        }
        try {
          const before = handed.get(req)
          if (before !== undefined && 'error' in before) throw before.error
          if (before !== undefined || !(await direct(exchange))) next()
        } catch (error) {
          for (let at = 0; at < exchange.headers.length; at += 2)
            res.set(exchange.headers[at] ?? '', exchange.headers[at + 1])
          throw error
        }
      },
  }
}

/** Ends an exchange with a JSON text, unless it was given up. */
export const answerJson = ({ res, headers }: Exchange, status: number, json: string): void => {
  if (res.headersSent) return
  const bytes = Buffer.byteLength(json)
  headers.push('Content-Type', 'application/json; charset=utf-8')
  headers.push('Content-Length', `${bytes}`)
  res.writeHead(status, headers)
  // ASCII is the same in both, and need not be encoded then.
  endTogether(res, json, bytes === json.length ? 'latin1' : 'utf8')
}

const isDirect = (route: Route): route is DirectRoute => route.direct !== undefined

/** Finds routes by paths that either have no parameter or end with their only one. */
const findBySpelling = (routes: readonly DirectRoute[]) => {
  const spelled = routes.map((route) => {
    const { method, path } = route.operation
    const [prefix = '', , rest] = path.split(/\{\w+\}/)
    if (rest !== undefined) throw new Error(`a direct route has at most one parameter: ${path}`)
    return { route, method: method.toUpperCase(), prefix, isWhole: prefix === path }
  })
  // A parameter may be spelled like the end of a path that has none.
  const candidates = spelled.toSorted((a, b) => Number(b.isWhole) - Number(a.isWhole))
  return (method: string | undefined, url: string): { route: DirectRoute; parameter: string } | undefined => {
    const end = url.indexOf('?')
    const path = end === -1 ? url : url.slice(0, end)
    for (const candidate of candidates) {
      const { route, prefix } = candidate
      if (method !== candidate.method || !path.startsWith(prefix)) continue
      const parameter = path.slice(prefix.length)
      if (candidate.isWhole ? parameter === '' : PLAIN.test(parameter)) return { route, parameter }
    }
    return undefined
  }
}

// Whatever else would have to be decoded first.
const PLAIN = /^[\w-]+$/

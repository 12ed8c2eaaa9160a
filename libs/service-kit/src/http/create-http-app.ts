import type { IncomingMessage, RequestListener } from 'node:http'
import type { Tracer } from '@opentelemetry/api'
import { AppError, type Endpoint, type Log } from '@waymark/contracts'
import express, { type RequestHandler } from 'express'
import helmet from 'helmet'
import { Histogram, type Registry } from 'prom-client'
import proxyAddr from 'proxy-addr'
import { traceRequests } from '../tracing/trace-requests.ts'
import { answerError } from './answer-error.ts'
import { answerWithin } from './answer-within.ts'
import { allowBrowsers, PUBLIC_API } from './cors.ts'
import { createDirectRoutes } from './direct-route.ts'
import { requestIdOf } from './request-id.ts'
import type { Route } from './route.ts'

/** What an HTTP app needs beside its routes. `isReady` is asked at every `/readyz`. */
export type HttpAppOptions = {
  routes: readonly Route[]
  trustedProxies: number
  isReady: () => boolean
  log: Log
  metrics: Registry
  /** Gives requests spans; nothing is traced without. */
  tracer?: Tracer | undefined
}

/**
 * An app with the given routes, health endpoints, security headers, and JSON for every error. Busy routes are answered
 * at once, everything else by Express.
 */
export const createHttpApp = ({
  routes,
  trustedProxies,
  isReady,
  log,
  metrics,
  tracer,
}: HttpAppOptions): RequestListener => {
  const app = express()
  app.disable('x-powered-by')
  app.disable('etag')
  app.set('trust proxy', trustedProxies)
  app.set('query parser', 'simple')
  app.use(helmet())
  app.use(identifyRequest)
  app.use(PUBLIC_API, allowBrowsers)
  app.use(refuseNul)
  app.get('/healthz', (_req, res) => void res.json({ status: 'ok' }))
  app.get('/readyz', (_req, res) => {
    if (isReady()) res.json({ status: 'ready' })
    else res.status(503).json({ status: 'not ready', error: 'NOT_READY' })
  })

  const duration = new Histogram({
    name: 'waymark_http_request_duration_seconds',
    help: 'Time to answer a request',
    labelNames: ['method', 'route', 'status'],
    buckets: [0.001, 0.005, 0.02, 0.1, 0.5, 1, 5],
    registers: [metrics],
  })
  const observe = ({ method, path }: Endpoint, status: number, startedAt: number): void =>
    duration.observe({ method, route: path, status }, (performance.now() - startedAt) / 1000)
  const measure =
    (operation: Endpoint): RequestHandler =>
    (_req, res, next) => {
      const startedAt = performance.now()
      res.once('finish', () => observe(operation, res.statusCode, startedAt))
      next()
    }

  const failed = answerError(log)
  const clientOf = (req: IncomingMessage): string =>
    (trustedProxies === 0
      ? req.socket.remoteAddress
      : proxyAddr(req, (_address, hop) => hop < trustedProxies)) ?? ''
  const trace = tracer && traceRequests(tracer)
  const direct = createDirectRoutes({ routes, clientOf, observe, trace })
  for (const route of routes) {
    const { operation, handlers } = route
    const traced = trace?.(operation)
    const first: RequestHandler[] = [
      ...(traced ? [((req, res, next) => traced(req, res, next)) satisfies RequestHandler] : []),
      measure(operation),
      answerWithin(operation, failed),
      ...(route.direct ? [direct.handlerOf(route.direct)] : []),
    ]
    app[operation.method](expressPath(operation.path), ...first, ...handlers)
  }
  for (const [path, methods] of methodsByPath(routes)) app.all(expressPath(path), refuseMethod(methods))
  app.use(() => {
    throw new AppError('not_found', 'Not found')
  })
  app.use(failed)
  return direct.before(app)
}

const identifyRequest: RequestHandler = (req, res, next) => {
  res.set('X-Request-Id', requestIdOf(req.headers['x-request-id']))
  next()
}

/** Nothing has a name with U+0000 in it: PostgreSQL refuses such a text, also one to compare with. */
const refuseNul: RequestHandler = (req, _res, next) => {
  if (req.path.includes('%00')) throw new AppError('not_found', 'Not found')
  next()
}

const expressPath = (path: string): string => path.replace(/\{(\w+)\}/g, ':$1')

const methodsByPath = (routes: readonly Route[]): Map<string, string> => {
  const endpoints = routes.map(({ operation }) => operation)
  const byPath = Map.groupBy([...endpoints, ...HEALTH], ({ path }) => path)
  return new Map(
    [...byPath].map(([path, ofPath]) => [path, ofPath.map(({ method }) => method.toUpperCase()).join(', ')]),
  )
}

const HEALTH: readonly Endpoint[] = [
  { method: 'get', path: '/healthz' },
  { method: 'get', path: '/readyz' },
]

const refuseMethod =
  (allowed: string): RequestHandler =>
  (_req, res) => {
    res.set('Allow', allowed)
    throw new AppError('method_not_allowed', 'This path does not know that method')
  }

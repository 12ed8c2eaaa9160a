import { randomUUID } from 'node:crypto'
import { AppError, type Endpoint, type Log } from '@waymark/contracts'
import express, { type Express, type RequestHandler } from 'express'
import helmet from 'helmet'
import { Histogram, type Registry } from 'prom-client'
import { answerError } from './answer-error.ts'
import { allowBrowsers } from './cors.ts'
import type { Route } from './route.ts'

/** What an HTTP app needs beside its routes. `isReady` is asked at every `/readyz`. */
export type HttpAppOptions = {
  routes: readonly Route[]
  trustedProxies: number
  isReady: () => boolean
  log: Log
  metrics: Registry
}

/** Paths that pages of any site may call with a key. */
const PUBLIC_API = ['/api/v1', '/ofrep/v1']
const REQUEST_ID = /^[\w.:-]{1,100}$/

/** An Express app with the given routes, health endpoints, security headers, and JSON for every error. */
export const createHttpApp = ({ routes, trustedProxies, isReady, log, metrics }: HttpAppOptions): Express => {
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
    const ready = isReady()
    res.status(ready ? 200 : 503).json({ status: ready ? 'ready' : 'not ready' })
  })

  const duration = new Histogram({
    name: 'waymark_http_request_duration_seconds',
    help: 'Time to answer a request',
    labelNames: ['method', 'route', 'status'],
    buckets: [0.001, 0.005, 0.02, 0.1, 0.5, 1, 5],
    registers: [metrics],
  })
  const measure =
    ({ method, path }: Endpoint): RequestHandler =>
    (_req, res, next) => {
      const start = performance.now()
      res.once('finish', () =>
        duration.observe({ method, route: path, status: res.statusCode }, (performance.now() - start) / 1000),
      )
      next()
    }

  for (const { operation, handlers } of routes)
    app[operation.method](expressPath(operation.path), measure(operation), ...handlers)
  for (const [path, methods] of methodsByPath(routes)) app.all(expressPath(path), refuseMethod(methods))
  app.use(() => {
    throw new AppError('not_found', 'Not found')
  })
  app.use(answerError(log))
  return app
}

const identifyRequest: RequestHandler = (req, res, next) => {
  const given = req.get('X-Request-Id') ?? ''
  res.set('X-Request-Id', REQUEST_ID.test(given) ? given : randomUUID())
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

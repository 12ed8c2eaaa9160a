import type { Tracer } from '@opentelemetry/api'
import { AppError } from '@waymark/contracts/app-error'
import type { Endpoint } from '@waymark/contracts/http/operation'
import type { Log } from '@waymark/contracts/log'
import { onWorkFailed } from '@waymark/domain/fairness'
import express, {
  type ErrorRequestHandler,
  type Express,
  type RequestHandler,
  type Response,
  Router,
} from 'express'
import { Counter, Histogram, type Registry } from 'prom-client'
import { traceRequests } from '../tracing/trace-requests.ts'
import { allowBrowsers, OriginRefusedError } from './cors.ts'
import { startDeadline } from './deadline.ts'
import { errorReply } from './error-reply.ts'
import { useOwnPrototypes } from './http-server.ts'
import { type Reply, sendReply } from './reply.ts'
import { createRequest, type HttpRequest } from './request.ts'
import { runAsClient } from './request-work.ts'
import {
  type Answers,
  type AppLocals,
  type HostRoutes,
  localsOf,
  mountRoutes,
  type Route,
  refuseUnknown,
  route,
} from './router.ts'
import { requireDeclaredAnswer, VALIDATES_ANSWERS } from './validate-answer.ts'

type HttpAppOptions = {
  router: Router
  hostRoutes?: HostRoutes | undefined
  trustedProxies: number
  /** What `/readyz` returns. */
  isReady: () => boolean
  log: Log
  metrics: Registry
  /** Undefined without tracing. */
  tracer?: Tracer | undefined
  /** Overrides the deadline of every operation, and with it the wait for each turn in a fair queue, in ms. */
  deadlineMs?: number
  /** Whether an answer that its operation does not declare becomes a 500. Default: in tests and development. */
  validatesAnswers?: boolean
}

/** Creates the Express app of a process: a router, health endpoints, CORS, security headers and JSON errors. */
export const createHttpApp = ({
  router,
  hostRoutes,
  trustedProxies,
  isReady,
  log,
  metrics,
  tracer,
  deadlineMs,
  validatesAnswers = VALIDATES_ANSWERS,
}: HttpAppOptions): Express => {
  const measure = measureRequests(metrics)
  const trace = tracer && traceRequests(tracer)

  /** Sends an error, unless the deadline has already sent one. */
  const fail = async (error: unknown, operation: Endpoint | undefined, response: Response): Promise<void> => {
    if (response.headersSent) return
    if (error instanceof OriginRefusedError) response.removeHeader('Access-Control-Allow-Origin')
    const { request } = localsOf(response)
    try {
      await sendReply(request, response, undefined, errorReply(error, operation, request, log))
    } catch (failure) {
      log.error({ method: request.method, err: failure }, 'Request not answered')
      request.message.socket.destroy()
    }
  }

  /** Closes the connection after a failure in the middle of an answer. */
  const breakOff = (error: unknown, { id: requestId, method, message }: HttpRequest): void => {
    // The client may have closed the connection before.
    if (!message.destroyed) log.error({ requestId, method, err: error }, 'Response aborted')
    message.socket.destroySoon()
  }

  const answer = async (
    { operation, allow, handler }: Route,
    request: HttpRequest,
    response: Response,
  ): Promise<void> => {
    let reply: Reply
    try {
      const caller = await allow?.(request)
      reply = await handler(request, caller as never)
      if (validatesAnswers) requireDeclaredAnswer(operation, reply)
    } catch (error) {
      return fail(error, operation, response)
    }
    try {
      await sendReply(request, response, operation, reply)
    } catch (error) {
      if (!response.headersSent) return fail(error, operation, response)
      if (!response.writableEnded) breakOff(error, request)
    }
  }

  const observeAndAnswer = (found: Route, request: HttpRequest, response: Response): Promise<void> => {
    const { operation } = found
    measure(operation, request)
    const failLater = (error: unknown): void => void fail(error, operation, response)
    startDeadline(operation, request, response, failLater, deadlineMs)
    onWorkFailed(failLater)
    if (!trace) return answer(found, request, response)
    return trace(operation, request, () => answer(found, request, response))
  }

  const answers: Answers = {
    answer: (found, request, response) =>
      void (health.includes(found) ? answer : observeAndAnswer)(found, request, response),
    send: (reply, request, response) => void sendReply(request, response, undefined, reply),
  }

  const begin: RequestHandler = (req, res, next) => {
    const request = createRequest(req, res, trustedProxies)
    // The object that Express makes has no fixed shape, which is slow.
    res.locals = { request, allowed: [], answers } satisfies AppLocals
    runAsClient(request, () => allowBrowsers(req, res, next), deadlineMs)
  }

  // Express tells apart middleware for errors by its four parameters.
  const answerError: ErrorRequestHandler = (error, _req, res, _next) => {
    if (res.headersSent) return breakOff(error, localsOf(res).request)
    void fail(errorOfMiddleware(error), undefined, res)
  }

  const health = healthRoutes(isReady)
  const app = express()
  useOwnPrototypes(app)
  app.disable('x-powered-by')
  app.disable('etag')
  app.set('trust proxy', trustedProxies)
  // Routes with an ETag answer 304 themselves.
  Object.defineProperty(app.request, 'fresh', { value: false })
  app.use(begin)
  mountRoutes(app, health)
  app.use(hostRoutes ? routesOfHosts(hostRoutes) : refuseNull)
  app.use(router)
  app.use(refuseUnknown)
  app.use(answerError)
  return app
}

/** Answers requests to hosts that an app serves by itself. No other route answers there. */
const routesOfHosts = ({ owns, router }: HostRoutes): RequestHandler => {
  const hosts = Router()
  hosts.use(router, refuseUnknown)
  return (req, res, next) => {
    const answer = (isOwned: boolean): void => {
      if (isOwned) keepUndecodable(req)
      const take = isOwned ? hosts : refuseNull
      take(req, res, next)
    }
    const { request, allowed } = localsOf(res)
    // Health checks are answered on every host.
    if (allowed.length > 0) return next()
    const owned = owns(request)
    return typeof owned === 'boolean' ? answer(owned) : owned.then(answer)
  }
}

/** Keeps a path that cannot be decoded as it is: visitors mistype it, and get what the host answers for unknown ones. */
const keepUndecodable = (req: { url: string; path: string }): void => {
  try {
    decodeURIComponent(req.path)
  } catch {
    req.url = req.url.replaceAll('%', '%25')
  }
}

/** PostgreSQL refuses U+0000 in any text, so no resource has it in its name. */
const refuseNull: RequestHandler = (_req, res, next) => {
  if (localsOf(res).request.path.includes('%00')) throw new AppError('not_found', 'Not found')
  next()
}

/** Errors of Express and its middleware have a status. */
const errorOfMiddleware = (error: unknown): unknown => {
  const { status, message } = Object(error) as { status?: unknown; message?: unknown }
  if (error instanceof AppError || typeof status !== 'number' || status >= 500) return error
  if (status === 413) return new AppError('payload_too_large', 'The request body is too large')
  if (status === 415) return new AppError('unsupported_media_type', `${message}`)
  return new AppError('bad_request', 'The request is malformed')
}

/** The answers to health checks of a process that is alive, and of one that is not ready. */
export const ALIVE = { status: 'ok' }
export const NOT_READY = { status: 'not ready', error: 'NOT_READY' }

/** Health checks. They are neither measured nor traced. */
const healthRoutes = (isReady: () => boolean): readonly Route[] => [
  route({ method: 'get', path: '/healthz' }, () => ({ body: ALIVE })),
  route({ method: 'get', path: '/readyz' }, () =>
    isReady() ? { body: { status: 'ready' } } : { status: 503, body: NOT_READY },
  ),
]

/** The first digits of statuses. */
const STATUS_CLASSES = ['1', '2', '3', '4', '5'] as const

/** Returns a function that counts answers, and measures the time until a request is answered, by route. */
const measureRequests = (metrics: Registry) => {
  const duration = new Histogram({
    name: 'waymark_http_request_duration_seconds',
    help: 'Time to answer a request',
    labelNames: ['method', 'route', 'status'],
    buckets: [0.001, 0.005, 0.02, 0.1, 0.5, 1, 5],
    registers: [metrics],
  })
  const answered = new Counter({
    name: 'waymark_http_requests_total',
    help: 'Answered requests, by the class of their status',
    labelNames: ['class'],
    registers: [metrics],
  })
  // From the start, because Prometheus sees no increase in the first value of a series.
  for (const digit of STATUS_CLASSES) answered.inc({ class: `${digit}xx` }, 0)
  return ({ method, path: route }: Endpoint, request: HttpRequest): void => {
    const startedAt = performance.now()
    request.onEnd((status) => {
      if (status === undefined) return
      duration.observe({ method, route, status }, (performance.now() - startedAt) / 1000)
      answered.inc({ class: `${Math.floor(status / 100)}xx` })
    })
  }
}

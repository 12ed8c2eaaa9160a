import type { IncomingMessage, RequestListener, ServerResponse } from 'node:http'
import type { Tracer } from '@opentelemetry/api'
import type { AppError, Endpoint, Log } from '@waymark/contracts'
import { Counter, Histogram, type Registry } from 'prom-client'
import { traceRequests } from '../tracing/trace-requests.ts'
import { allowBrowsers, isPreflight, PREFLIGHT_REPLY } from './cors.ts'
import { startDeadline } from './deadline.ts'
import { errorReply } from './error-reply.ts'
import { type Reply, sendReply } from './reply.ts'
import { createRequest, type HttpRequest } from './request.ts'
import { createRouter, type HostRoutes, type Route, route } from './router.ts'

type HttpAppOptions = {
  routes: readonly Route[]
  hostRoutes?: HostRoutes | undefined
  trustedProxies: number
  /** What `/readyz` returns. */
  isReady: () => boolean
  log: Log
  metrics: Registry
  /** Undefined without tracing. */
  tracer?: Tracer | undefined
  /** Overrides the deadline of every operation, in ms. */
  deadlineMs?: number
}

/** Creates an app with routes, health endpoints, security headers and JSON errors. */
export const createHttpApp = ({
  routes,
  hostRoutes,
  trustedProxies,
  isReady,
  log,
  metrics,
  tracer,
  deadlineMs,
}: HttpAppOptions): RequestListener => {
  const health = healthRoutes(isReady)
  const findRoute = createRouter([...routes, ...health])
  // Visitors mistype paths, and get what the host answers for unknown ones.
  const findHostRoute = createRouter(hostRoutes?.routes ?? [], { takesAnyPath: true })
  const healthPaths = new Set(health.map(({ operation }) => operation.path))
  /** Whether the routes of `hostRoutes` answer. Health checks are answered on every host. */
  const isForHost = (request: HttpRequest): boolean | Promise<boolean> =>
    hostRoutes !== undefined && !healthPaths.has(request.path) && hostRoutes.owns(request)
  const measure = measureRequests(metrics)
  const trace = tracer && traceRequests(tracer)

  /** Sends an error, unless the deadline has already sent one. */
  const fail = (
    error: unknown,
    found: Route | undefined,
    request: HttpRequest,
    response: ServerResponse,
  ): Promise<void> =>
    response.headersSent
      ? Promise.resolve()
      : sendReply(request, response, undefined, errorReply(error, found?.operation, request, log))

  /** Closes the connection after a failure in the middle of an answer. */
  const breakOff = (error: unknown, { id: requestId, method, message }: HttpRequest): void => {
    // The client may have closed the connection before.
    if (!message.destroyed) log.error({ requestId, method, err: error }, 'Response aborted')
    message.socket.destroySoon()
  }

  const closeUnanswered =
    (message: IncomingMessage) =>
    (error: unknown): void => {
      log.error({ method: message.method, err: error }, 'Request not answered')
      message.socket.destroy()
    }

  const answer = async (found: Route, request: HttpRequest, response: ServerResponse): Promise<void> => {
    let reply: Reply
    try {
      const caller = await found.allow?.(request)
      reply = await found.handler(request, caller as never)
    } catch (error) {
      return fail(error, found, request, response)
    }
    try {
      await sendReply(request, response, found.operation, reply)
    } catch (error) {
      if (!response.headersSent) return fail(error, found, request, response)
      if (!response.writableEnded) breakOff(error, request)
    }
  }

  const handle = async (message: IncomingMessage, response: ServerResponse): Promise<void> => {
    const request = createRequest(message, response, trustedProxies)
    allowBrowsers(request)
    if (isPreflight(request)) return sendReply(request, response, undefined, PREFLIGHT_REPLY)
    let found: Route
    try {
      const owned = isForHost(request)
      const isOwned: boolean = typeof owned === 'boolean' ? owned : await owned
      const match = isOwned ? findHostRoute(request) : findRoute(request)
      found = match.route
      request.params = match.params
    } catch (error) {
      return fail(error, undefined, request, response)
    }
    if (health.includes(found)) return answer(found, request, response)
    const { operation } = found
    measure(operation, request)
    const onTimeout = (error: AppError): void =>
      void fail(error, found, request, response).catch(closeUnanswered(message))
    startDeadline(operation, request, response, onTimeout, deadlineMs)
    if (!trace) return answer(found, request, response)
    return trace(operation, request, () => answer(found, request, response))
  }

  return (message, response) => void handle(message, response).catch(closeUnanswered(message))
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

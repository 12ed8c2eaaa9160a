import type { IncomingMessage, RequestListener, ServerResponse } from 'node:http'
import type { Tracer } from '@opentelemetry/api'
import type { AppError, Endpoint, Log } from '@waymark/contracts'
import { Histogram, type Registry } from 'prom-client'
import { traceRequests } from '../tracing/trace-requests.ts'
import { allowBrowsers, isPreflight, PREFLIGHT_REPLY } from './cors.ts'
import { startDeadline } from './deadline.ts'
import { errorReply } from './error-reply.ts'
import { type Reply, sendReply } from './reply.ts'
import { createRequest, type HttpRequest } from './request.ts'
import { createRouter, type Route, route } from './router.ts'

/** What an HTTP app needs beside its routes. `isReady` is asked at every `/readyz`. */
export type HttpAppOptions = {
  routes: readonly Route[]
  trustedProxies: number
  isReady: () => boolean
  log: Log
  metrics: Registry
  /** Gives requests spans; nothing is traced without. */
  tracer?: Tracer | undefined
  /** How long answers may take, in ms, in place of what their operations say. */
  deadlineMs?: number
}

/** An app with the given routes, health endpoints, security headers, and JSON for every error. */
export const createHttpApp = ({
  routes,
  trustedProxies,
  isReady,
  log,
  metrics,
  tracer,
  deadlineMs,
}: HttpAppOptions): RequestListener => {
  const health = healthRoutes(isReady)
  const findRoute = createRouter([...routes, ...health])
  const measure = measureRequests(metrics)
  const trace = tracer && traceRequests(tracer)

  /** Answers with an error, unless the deadline has done so before. */
  const fail = (
    error: unknown,
    found: Route | undefined,
    request: HttpRequest,
    response: ServerResponse,
  ): Promise<void> =>
    response.headersSent
      ? Promise.resolve()
      : sendReply(request, response, undefined, errorReply(error, found?.operation, request, log))

  /** Closes the connection: half an answer cannot be taken back. */
  const breakOff = (error: unknown, { id: requestId, method, message }: HttpRequest): void => {
    // The client may have closed it before.
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
      const match = findRoute(request)
      found = match.route
      request.params = match.params
    } catch (error) {
      return fail(error, undefined, request, response)
    }
    if (health.includes(found)) return answer(found, request, response)
    const { operation } = found
    measure(operation, request)
    const giveUp = (error: AppError): void =>
      void fail(error, found, request, response).catch(closeUnanswered(message))
    startDeadline(operation, request, response, giveUp, deadlineMs)
    if (!trace) return answer(found, request, response)
    return trace(operation, request, () => answer(found, request, response))
  }

  return (message, response) => void handle(message, response).catch(closeUnanswered(message))
}

/** Their requests are neither measured nor traced: probes would outnumber everything else. */
const healthRoutes = (isReady: () => boolean): readonly Route[] => [
  route({ method: 'get', path: '/healthz' }, () => ({ body: { status: 'ok' } })),
  route({ method: 'get', path: '/readyz' }, () =>
    isReady()
      ? { body: { status: 'ready' } }
      : { status: 503, body: { status: 'not ready', error: 'NOT_READY' } },
  ),
]

/** Makes what measures the time from now until a request has been answered, by route and not by what was asked. */
export const measureRequests = (metrics: Registry) => {
  const duration = new Histogram({
    name: 'waymark_http_request_duration_seconds',
    help: 'Time to answer a request',
    labelNames: ['method', 'route', 'status'],
    buckets: [0.001, 0.005, 0.02, 0.1, 0.5, 1, 5],
    registers: [metrics],
  })
  return ({ method, path: route }: Endpoint, request: HttpRequest): void => {
    const startedAt = performance.now()
    request.onEnd((status) => {
      if (status !== undefined)
        duration.observe({ method, route, status }, (performance.now() - startedAt) / 1000)
    })
  }
}

import {
  context,
  createContextKey,
  propagation,
  ROOT_CONTEXT,
  SpanKind,
  SpanStatusCode,
  type Tracer,
  trace,
} from '@opentelemetry/api'
import type { Endpoint } from '@waymark/contracts'
import type { RequestHandler } from 'express'

/** Under which a context holds the id of the request that it belongs to. */
export const REQUEST_ID = createContextKey('waymark request id')

/**
 * Gives each request of an endpoint a span, in the trace of its `traceparent` if it has one. Spans tell the route and
 * not the path: what users send is nobody else's.
 */
export const traceRequests =
  (tracer: Tracer) =>
  ({ method, path }: Endpoint): RequestHandler => {
    const verb = method.toUpperCase()
    const attributes = { 'http.request.method': verb, 'http.route': path }
    return (req, res, next) => {
      const caller = propagation.extract(ROOT_CONTEXT, req.headers)
      const span = tracer.startSpan(`${verb} ${path}`, { kind: SpanKind.SERVER, attributes }, caller)
      res.once('close', () => {
        const answered = res.writableFinished
        if (answered) span.setAttribute('http.response.status_code', res.statusCode)
        if (!answered || res.statusCode >= 500) {
          span.setAttribute('error.type', answered ? `${res.statusCode}` : 'aborted')
          span.setStatus({ code: SpanStatusCode.ERROR })
        }
        span.end()
      })
      const now = trace.setSpan(caller, span).setValue(REQUEST_ID, res.get('X-Request-Id'))
      context.with(now, next)
    }
  }

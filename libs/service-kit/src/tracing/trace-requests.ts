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
import type { HttpRequest } from '../http/request.ts'

/** Under which a context holds the id of the request that it belongs to. */
export const REQUEST_ID = createContextKey('waymark request id')

/**
 * Makes what has requests answered by `answer`, each in a span of its own, to which belongs all that the answer waits
 * for; in the trace of its `traceparent` if it has one. Spans tell the route and not the path: what users send is nobody
 * else's.
 */
export const traceRequests =
  (tracer: Tracer) =>
  ({ method, path }: Endpoint, request: HttpRequest, answer: () => Promise<void>): Promise<void> => {
    const verb = method.toUpperCase()
    const attributes = { 'http.request.method': verb, 'http.route': path }
    const caller = propagation.extract(ROOT_CONTEXT, request.headers)
    const span = tracer.startSpan(`${verb} ${path}`, { kind: SpanKind.SERVER, attributes }, caller)
    request.onEnd((status) => {
      if (status !== undefined) span.setAttribute('http.response.status_code', status)
      if (status === undefined || status >= 500) {
        span.setAttribute('error.type', status === undefined ? 'aborted' : `${status}`)
        span.setStatus({ code: SpanStatusCode.ERROR })
      }
      span.end()
    })
    return context.with(trace.setSpan(caller, span).setValue(REQUEST_ID, request.id), answer)
  }

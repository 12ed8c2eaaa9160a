import type { IncomingMessage, ServerResponse } from 'node:http'
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

/** Under which a context holds the id of the request that it belongs to. */
export const REQUEST_ID = createContextKey('waymark request id')

/** Has a request answered by `answer`, which belongs to the request's span, and so does all that it waits for. */
export type TraceRequest = (
  req: IncomingMessage,
  res: ServerResponse,
  answer: () => void,
  requestId?: string,
) => void

/**
 * Gives each request of an endpoint a span, in the trace of its `traceparent` if it has one. Spans tell the route and
 * not the path: what users send is nobody else's. A request that has a span keeps it when it is handed on.
 */
export const traceRequests =
  (tracer: Tracer) =>
  ({ method, path }: Endpoint): TraceRequest => {
    const verb = method.toUpperCase()
    const attributes = { 'http.request.method': verb, 'http.route': path }
    return (req, res, answer, requestId = String(res.getHeader('X-Request-Id'))) => {
      if (trace.getActiveSpan() !== undefined) return answer()
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
      context.with(trace.setSpan(caller, span).setValue(REQUEST_ID, requestId), answer)
    }
  }

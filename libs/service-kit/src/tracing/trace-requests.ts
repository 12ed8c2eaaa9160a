import {
  context,
  createContextKey,
  isSpanContextValid,
  propagation,
  ROOT_CONTEXT,
  SpanKind,
  SpanStatusCode,
  type Tracer,
  trace,
} from '@opentelemetry/api'
import type { Endpoint } from '@waymark/contracts/http/operation'
import type { HttpRequest } from '../http/request.ts'

const REQUEST_ID = createContextKey('waymark request id')

/**
 * Returns a function that runs `answer` in a span, within the trace of the `traceparent` header. Spans contain the route
 * instead of the path, because paths may hold personal data.
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

/** The fields of log lines that are written while a traced request or batch is handled. */
export const traceLogFields = (): { requestId?: string; traceId?: string; spanId?: string } => {
  const now = context.active()
  const span = trace.getSpanContext(now)
  if (span === undefined || !isSpanContextValid(span)) return {}
  const requestId = now.getValue(REQUEST_ID)
  return {
    ...(typeof requestId === 'string' && { requestId }),
    traceId: span.traceId,
    spanId: span.spanId,
  }
}

import { context, isSpanContextValid, trace } from '@opentelemetry/api'
import { REQUEST_ID } from './trace-requests.ts'

/** What each line of the log says of the request or batch that it is about, if there is one and it is traced. */
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

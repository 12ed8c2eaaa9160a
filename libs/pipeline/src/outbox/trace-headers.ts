import { type Context, context, propagation, trace } from '@opentelemetry/api'
import { traceHeadersOf } from '@waymark/contracts/trace-context'

/**
 * Headers that add a record to the trace of `now`, by default of the current request or batch. Use them for records that
 * are published later. Undefined without a trace.
 */
export const traceHeaders = (now: Context = context.active()): { traceparent: string } | undefined => {
  if (trace.getSpan(now) === undefined) return undefined
  const carrier: Record<string, string> = {}
  propagation.inject(now, carrier)
  // Only `traceparent`, because further headers come from the client and would be stored with each record.
  return traceHeadersOf(carrier)
}

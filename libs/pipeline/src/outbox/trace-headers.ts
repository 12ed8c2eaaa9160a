import { type Context, context, propagation, trace } from '@opentelemetry/api'
import { traceHeadersOf } from '@waymark/contracts'

/**
 * Headers that put a record into the trace of `now`, which is the request or batch that is being handled unless given.
 * For records that are written now and published later, by somebody else. None while there is no trace.
 */
export const traceHeaders = (now: Context = context.active()): { traceparent: string } | undefined => {
  if (trace.getSpan(now) === undefined) return undefined
  const carrier: Record<string, string> = {}
  propagation.inject(now, carrier)
  // What else a propagator adds is the client's, and would be repeated with each of its records.
  return traceHeadersOf(carrier)
}

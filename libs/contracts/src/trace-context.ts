type Headers = Readonly<Record<string, string | string[] | undefined>>

// https://www.w3.org/TR/trace-context/#traceparent-header: ids must not be all zeros.
const TRACEPARENT = /^(?!ff)[\da-f]{2}-(?!0{32})([\da-f]{32})-(?!0{16})[\da-f]{16}-[\da-f]{2}(?:-|$)/

/** The trace id in a valid `traceparent` header (W3C Trace Context) of a request or record. */
export const traceIdOf = ({ traceparent }: Headers): string | undefined =>
  typeof traceparent === 'string' ? TRACEPARENT.exec(traceparent)?.[1] : undefined

/** The trace headers of a record, for records that follow from it. Undefined without a trace. */
export const traceHeadersOf = (headers: Headers): { traceparent: string } | undefined => {
  const { traceparent } = headers
  return typeof traceparent === 'string' && traceIdOf(headers) !== undefined ? { traceparent } : undefined
}

type Headers = Readonly<Record<string, string | string[] | undefined>>

// https://www.w3.org/TR/trace-context/#traceparent-header; ids of zeros only are none.
const TRACEPARENT = /^(?!ff)[\da-f]{2}-(?!0{32})([\da-f]{32})-(?!0{16})[\da-f]{16}-[\da-f]{2}(?:-|$)/

/** The trace that a request or a record belongs to, by its header `traceparent` of W3C Trace Context, if that is valid. */
export const traceIdOf = ({ traceparent }: Headers): string | undefined =>
  typeof traceparent === 'string' ? TRACEPARENT.exec(traceparent)?.[1] : undefined

/** Of the headers of a record those that say which trace it belongs to, for what follows from it; none if it belongs to none. */
export const traceHeadersOf = (headers: Headers): { traceparent: string } | undefined => {
  const { traceparent } = headers
  return typeof traceparent === 'string' && traceIdOf(headers) !== undefined ? { traceparent } : undefined
}

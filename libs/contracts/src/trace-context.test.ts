import { expect, it } from 'vitest'
import { traceHeadersOf, traceIdOf } from './trace-context.ts'

const TRACE_ID = '4bf92f3577b34da6a3ce929d0e0e4736'
const SPAN_ID = '00f067aa0ba902b7'

it('reads the trace of a valid traceparent, also of later versions', () => {
  for (const traceparent of [
    `00-${TRACE_ID}-${SPAN_ID}-01`,
    `00-${TRACE_ID}-${SPAN_ID}-00`,
    `cc-${TRACE_ID}-${SPAN_ID}-01-what-the-future-brings`,
  ]) {
    expect(traceIdOf({ traceparent })).toBe(TRACE_ID)
    expect(traceHeadersOf({ traceparent, tracestate: 'a=b', other: 'x' })).toEqual({ traceparent })
  }
})

it.each([
  undefined,
  '',
  'nonsense',
  `00-${'0'.repeat(32)}-${SPAN_ID}-01`,
  `00-${TRACE_ID}-${'0'.repeat(16)}-01`,
  `ff-${TRACE_ID}-${SPAN_ID}-01`,
  `00-${TRACE_ID.toUpperCase()}-${SPAN_ID}-01`,
  `00-${TRACE_ID}-${SPAN_ID}-01, 00-${TRACE_ID}-${SPAN_ID}-01`,
  `00-${TRACE_ID}-${SPAN_ID}-01\n`,
  [`00-${TRACE_ID}-${SPAN_ID}-01`],
])('reads nothing from %j', (traceparent) => {
  expect(traceIdOf({ traceparent })).toBeUndefined()
  expect(traceHeadersOf({ traceparent })).toBeUndefined()
})

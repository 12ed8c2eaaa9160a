import { context, propagation, ROOT_CONTEXT, trace } from '@opentelemetry/api'
import { AsyncLocalStorageContextManager } from '@opentelemetry/context-async-hooks'
import { W3CTraceContextPropagator } from '@opentelemetry/core'
import { InMemorySpanExporter, SimpleSpanProcessor, TracerProvider } from '@opentelemetry/sdk-trace'
import { ingestRecords } from '@waymark/contracts/topics'
import {
  type Delivery,
  type EventBus,
  type Outcome,
  publishing,
  type SerializedRecord,
  serializeRecords,
} from '@waymark/event-bus'
import { anIngestRecord } from '@waymark/testing/unit'
import { afterAll, beforeAll, beforeEach, expect, it } from 'vitest'
import { traceBus } from './trace-bus.ts'
import { traceLogFields } from './trace-requests.ts'

const exporter = new InMemorySpanExporter()
const provider = new TracerProvider({ spanProcessors: [new SimpleSpanProcessor({ exporter })] })
const tracer = provider.getTracer('test')

beforeAll(() => {
  context.setGlobalContextManager(new AsyncLocalStorageContextManager().enable())
  propagation.setGlobalPropagator(new W3CTraceContextPropagator())
})
afterAll(() => {
  context.disable()
  propagation.disable()
})
beforeEach(() => exporter.reset())

type Handle = (batch: Delivery<unknown>[], signal: AbortSignal) => Promise<Outcome[] | undefined>

const createFakeBus = () => {
  const published: SerializedRecord[] = []
  const loggedByBus: object[] = []
  let deliver: Handle | undefined
  const bus: EventBus = {
    ...publishing(async (_topic, records) => {
      published.push(...records)
      loggedByBus.push(traceLogFields())
    }),
    subscribe: (subscription) => {
      deliver = subscription.handle as Handle
      return { start: async () => {}, stop: async () => {} }
    },
    readLag: async () => [],
    close: async () => {},
  }
  const deliverAll = (traceparents: (string | undefined)[]) =>
    deliver?.(
      traceparents.map((traceparent, index) => ({
        topic: ingestRecords.name,
        partition: 0,
        offset: BigInt(index),
        key: 'key',
        value: anIngestRecord(),
        headers: traceparent === undefined ? {} : { traceparent },
      })),
      new AbortController().signal,
    )
  return { bus: traceBus(bus, tracer), published, loggedByBus, deliverAll }
}

const traceId = (digit: string) => digit.repeat(32)
const parent = (digit: string, flags = '01') => `00-${traceId(digit)}-${digit.repeat(16)}-${flags}`
const record = (headers?: Record<string, string>) => ({
  key: 'key',
  value: anIngestRecord(),
  ...(headers && { headers }),
})

it('adds the trace of a request to its published records, and keeps an existing one', async () => {
  const { bus, published, loggedByBus } = createFakeBus()
  const request = tracer.startSpan('request')
  await context.with(trace.setSpan(ROOT_CONTEXT, request), () =>
    bus.publish(ingestRecords, [record({ other: 'kept' }), record({ traceparent: parent('a') })]),
  )
  const [send] = exporter.getFinishedSpans()
  const { traceId: ofRequest } = request.spanContext()
  expect(send?.parentSpanContext?.spanId).toBe(request.spanContext().spanId)
  expect(published.map(({ headers }) => headers)).toEqual([
    { other: 'kept', traceparent: `00-${ofRequest}-${send?.spanContext().spanId}-01` },
    { traceparent: parent('a') },
  ])
  // A bus sends records of many requests together.
  expect(loggedByBus).toEqual([{}])
})

it('adds no trace to records that a loop publishes', async () => {
  const { bus, published } = createFakeBus()
  const records = [record(), record({ traceparent: parent('a') })]
  await bus.publish(ingestRecords, records)
  expect(published).toEqual(serializeRecords(records))
  expect(exporter.getFinishedSpans()).toEqual([])
})

it('adds a span to each sampled trace of a batch', async () => {
  const { bus, deliverAll } = createFakeBus()
  const said: object[] = []
  bus.subscribe({
    group: 'readers',
    topic: ingestRecords,
    handle: async () => {
      said.push(traceLogFields())
      return undefined
    },
  })
  await deliverAll([undefined, parent('a', '00'), parent('b'), parent('c'), parent('b'), 'nonsense'])
  const spans = exporter.getFinishedSpans()
  expect(spans.map((span) => span.spanContext().traceId).sort()).toEqual([traceId('b'), traceId('c')])
  const [first, second] = spans
  expect(first?.parentSpanContext?.spanId).toBe('b'.repeat(16))
  expect(second?.links.map((link) => link.context.spanId)).toEqual([first?.spanContext().spanId])
  expect(said).toEqual([{ traceId: traceId('b'), spanId: first?.spanContext().spanId }])
  for (const { attributes } of spans)
    expect(attributes).toEqual({
      'messaging.system': 'kafka',
      'messaging.operation.type': 'process',
      'messaging.destination.name': 'ingest.records.v1',
      'messaging.batch.message_count': 6,
      'messaging.consumer.group.name': 'readers',
      'messaging.destination.partition.id': '0',
    })
})

it('starts a trace for a batch without one', async () => {
  const { bus, deliverAll, published } = createFakeBus()
  bus.subscribe({
    group: 'readers',
    topic: ingestRecords,
    handle: async () => {
      await bus.publish(ingestRecords, [record()])
      return undefined
    },
  })
  await deliverAll([undefined])
  const [send, handle] = exporter.getFinishedSpans()
  expect(handle?.parentSpanContext).toBeUndefined()
  expect(send?.spanContext().traceId).toBe(handle?.spanContext().traceId)
  expect(published[0]?.headers?.traceparent).toContain(handle?.spanContext().traceId)
})

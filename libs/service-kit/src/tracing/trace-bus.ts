import {
  type Context,
  context,
  propagation,
  ROOT_CONTEXT,
  type Span,
  SpanKind,
  SpanStatusCode,
  type Tracer,
  trace,
} from '@opentelemetry/api'
import { traceHeadersOf } from '@waymark/contracts'
import { type Delivery, type EventBus, publishing } from '@waymark/event-bus'
import { traceHeaders } from '@waymark/pipeline'

/**
 * The same bus, in traces. What is published for a request or batch has a span, and its records carry the trace; those
 * that carry one already, because they follow from another record or waited in the outbox, keep it. A batch has a span
 * in each trace whose records it holds, as far as those are sampled; what its handler does belongs to the first.
 */
export const traceBus = (bus: EventBus, tracer: Tracer): EventBus => ({
  ...publishing(async (topic, records) => {
    // A loop that sends on what others have written has no trace of its own.
    if (trace.getActiveSpan() === undefined) return bus.publishSerialized(topic, records)
    const span = tracer.startSpan(`send ${topic.name}`, {
      kind: SpanKind.PRODUCER,
      attributes: attributesOf('send', topic.name, records.length),
    })
    const headers = traceHeaders(trace.setSpan(context.active(), span))
    const traced = records.map((record) =>
      record.headers?.traceparent === undefined
        ? { ...record, headers: { ...record.headers, ...headers } }
        : record,
    )
    // Below here records of many requests travel together: what is logged of that belongs to none of them.
    return during([span], () => context.with(ROOT_CONTEXT, () => bus.publishSerialized(topic, traced)))
  }),
  subscribe: (subscription) => {
    const { group, topic } = subscription
    return bus.subscribe({
      ...subscription,
      handle: (batch, signal) => {
        const attributes = {
          ...attributesOf('process', topic.name, batch.length),
          'messaging.consumer.group.name': group,
          'messaging.destination.partition.id': `${batch[0]?.partition}`,
        }
        const [first = ROOT_CONTEXT, ...others] = producersOf(batch)
        const start = (producer: Context, links: { context: ReturnType<Span['spanContext']> }[]) =>
          tracer.startSpan(`process ${topic.name}`, { kind: SpanKind.CONSUMER, attributes, links }, producer)
        const span = start(first, [])
        const besides = others.map((producer) => start(producer, [{ context: span.spanContext() }]))
        return context.with(trace.setSpan(ROOT_CONTEXT, span), () =>
          during([span, ...besides], () => subscription.handle(batch, signal)),
        )
      },
    })
  },
  close: () => bus.close(),
})

const attributesOf = (operation: 'send' | 'process', topic: string, records: number) => ({
  'messaging.system': 'kafka',
  'messaging.operation.type': operation,
  'messaging.destination.name': topic,
  'messaging.batch.message_count': records,
})

/** The contexts that the records were published in: the sampled ones, or else the first there is. */
const producersOf = (batch: readonly Delivery<unknown>[]): Context[] => {
  const seen = new Set<string>()
  for (const { headers } of batch) {
    const { traceparent } = traceHeadersOf(headers) ?? {}
    if (traceparent !== undefined) seen.add(traceparent)
  }
  const sampled = [...seen].filter((traceparent) => !traceparent.endsWith('-00'))
  const parents = sampled.length > 0 ? sampled : [...seen].slice(0, 1)
  return parents.map((traceparent) => propagation.extract(ROOT_CONTEXT, { traceparent }))
}

/** Does the work that the spans tell of. Of an error they keep the kind: its message may quote what users sent. */
const during = async <T>(spans: readonly Span[], work: () => Promise<T>): Promise<T> => {
  try {
    return await work()
  } catch (error) {
    for (const span of spans) {
      span.setAttribute('error.type', errorTypeOf(error))
      span.setStatus({ code: SpanStatusCode.ERROR })
    }
    throw error
  } finally {
    for (const span of spans) span.end()
  }
}

const errorTypeOf = (error: unknown): string => {
  const { code, name } = Object(error) as { code?: unknown; name?: unknown }
  return typeof code === 'string' ? code : typeof name === 'string' ? name : 'Error'
}

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
import { traceHeadersOf } from '@waymark/contracts/trace-context'
import { type Delivery, type EventBus, publishing } from '@waymark/event-bus'
import { traceHeaders } from '@waymark/pipeline'

/**
 * Adds traces to a bus. Publishing within a request or batch has a span, and the records carry its trace unless they have
 * one already, such as records from the outbox. A batch has a span in each sampled trace of its records. The work of its
 * handler belongs to the first.
 */
export const traceBus = (bus: EventBus, tracer: Tracer): EventBus => ({
  ...publishing(async (topic, records) => {
    // Background loops, such as the relay of the outbox, have no trace.
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
    // Without the context, because the bus batches records of several requests.
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
        const further = others.map((producer) => start(producer, [{ context: span.spanContext() }]))
        return context.with(trace.setSpan(ROOT_CONTEXT, span), () =>
          during([span, ...further], () => subscription.handle(batch, signal)),
        )
      },
    })
  },
  readLag: (groups) => bus.readLag(groups),
  close: () => bus.close(),
})

const attributesOf = (operation: 'send' | 'process', topic: string, records: number) => ({
  'messaging.system': 'kafka',
  'messaging.operation.type': operation,
  'messaging.destination.name': topic,
  'messaging.batch.message_count': records,
})

/** The contexts in which the records were published: the sampled ones, or else the first one. */
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

/** Runs `work` and ends the spans. They record the type of an error, but not its message, which may hold personal data. */
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

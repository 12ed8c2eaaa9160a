import { hostname } from 'node:os'
import { setTimeout as sleep } from 'node:timers/promises'
import { context, propagation, type Tracer } from '@opentelemetry/api'
import { AsyncLocalStorageContextManager } from '@opentelemetry/context-async-hooks'
import { setGlobalErrorHandler, W3CTraceContextPropagator } from '@opentelemetry/core'
import { OTLPTraceExporter } from '@opentelemetry/exporter-trace-otlp-http'
import { resourceFromAttributes } from '@opentelemetry/resources'
import {
  AlwaysOffSampler,
  AlwaysOnSampler,
  BatchSpanProcessor,
  ParentBasedSampler,
  type Sampler,
  TraceIdRatioBasedSampler,
  TracerProvider,
} from '@opentelemetry/sdk-trace'
import type { Log } from '@waymark/contracts'
import type { TracingConfig } from './tracing-config.ts'

/** What makes spans, and what sends the last ones off. */
export type Tracing = { tracer: Tracer; stop(): Promise<void> }

/** How long the collector has for a batch of spans, and a stop for the last of them, in ms. */
const EXPORT_MS = 3_000
const EXPORT_INTERVAL_MS = 2_000
/** Spans that wait for the collector at most; those beyond are dropped. */
const MAX_WAITING_SPANS = 4_096
/** A collector that is away is complained about this often, in ms. */
const COMPLAIN_MS = 60_000

/**
 * Starts to export spans, and has the context of a request or batch follow what is done for it. A collector that is
 * away costs spans and nothing else. Only for a process that is traced: importing this loads the whole SDK.
 */
export const startTracing = (name: string, config: TracingConfig, log: Log): Tracing => {
  const exporter = new OTLPTraceExporter({
    url: `${config.endpoint.replace(/\/+$/, '')}/v1/traces`,
    headers: headersOf(config.headers),
    timeoutMillis: EXPORT_MS,
  })
  const provider = new TracerProvider({
    resource: resourceFromAttributes({
      'service.namespace': 'waymark',
      'service.name': config.serviceName || name,
      'service.instance.id': `${hostname()}-${process.pid}`,
    }),
    sampler: samplerOf(config),
    spanProcessors: [
      new BatchSpanProcessor({
        exporter,
        maxQueueSize: MAX_WAITING_SPANS,
        scheduledDelayMillis: EXPORT_INTERVAL_MS,
        exportTimeoutMillis: EXPORT_MS,
      }),
    ],
  })
  context.setGlobalContextManager(new AsyncLocalStorageContextManager().enable())
  propagation.setGlobalPropagator(new W3CTraceContextPropagator())
  const complain = complainTo(log)
  setGlobalErrorHandler(complain)
  return {
    tracer: provider.getTracer('waymark'),
    stop: async () => {
      const patience = sleep(EXPORT_MS, undefined, { ref: false })
      await Promise.race([provider.shutdown().catch(complain), patience])
      context.disable()
      propagation.disable()
    },
  }
}

const headersOf = (pairs: readonly string[]): Record<string, string> =>
  Object.fromEntries(
    pairs.map((pair) => {
      const [name = '', ...value] = pair.split('=')
      return [name, decoded(value.join('='))]
    }),
  )

const decoded = (text: string): string => {
  try {
    return decodeURIComponent(text)
  } catch {
    return text
  }
}

const samplerOf = ({ sampler, ratio }: TracingConfig): Sampler => {
  const root = sampler.endsWith('always_off')
    ? new AlwaysOffSampler()
    : sampler.endsWith('always_on')
      ? new AlwaysOnSampler()
      : new TraceIdRatioBasedSampler(ratio)
  return sampler.startsWith('parentbased') ? new ParentBasedSampler({ root }) : root
}

const complainTo = (log: Log): ((error: unknown) => void) => {
  let saidAt = Number.NEGATIVE_INFINITY
  return (error) => {
    if (performance.now() - saidAt < COMPLAIN_MS) return
    saidAt = performance.now()
    log.warn({ err: error }, 'Traces could not be exported to the collector')
  }
}

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
import type { Log } from '@waymark/contracts/log'
import type { TracingConfig } from './tracing-config.ts'

/** Time for the export of a batch of spans, also of the last one at a stop, in ms. */
const EXPORT_TIMEOUT_MS = 3_000
const EXPORT_INTERVAL_MS = 2_000
/** Spans that wait for the collector. Further ones are dropped. */
const MAX_WAITING_SPANS = 4_096
const LOG_INTERVAL_MS = 60_000

/**
 * Starts to export spans, and propagates the trace context through asynchronous calls. While the collector is
 * unavailable, spans are lost and nothing else happens. Importing this file loads the whole SDK.
 * @returns the tracer, and `stop`, which exports the remaining spans
 */
export const startTracing = (
  name: string,
  config: TracingConfig,
  log: Log,
): { tracer: Tracer; stop(): Promise<void> } => {
  const exporter = new OTLPTraceExporter({
    url: `${config.endpoint.replace(/\/+$/, '')}/v1/traces`,
    headers: headersOf(config.headers),
    timeoutMillis: EXPORT_TIMEOUT_MS,
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
        exportTimeoutMillis: EXPORT_TIMEOUT_MS,
      }),
    ],
  })
  context.setGlobalContextManager(new AsyncLocalStorageContextManager().enable())
  propagation.setGlobalPropagator(new W3CTraceContextPropagator())
  const logFailure = logFailuresTo(log)
  setGlobalErrorHandler(logFailure)
  return {
    tracer: provider.getTracer('waymark'),
    stop: async () => {
      const timeout = sleep(EXPORT_TIMEOUT_MS, undefined, { ref: false })
      await Promise.race([provider.shutdown().catch(logFailure), timeout])
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

/** Returns what logs a failed export, at most once a minute. */
export const logFailuresTo = (log: Log): ((error: unknown) => void) => {
  let loggedAt = Number.NEGATIVE_INFINITY
  return (error) => {
    if (performance.now() - loggedAt < LOG_INTERVAL_MS) return
    loggedAt = performance.now()
    log.warn({ err: error }, 'Traces could not be exported to the collector')
  }
}

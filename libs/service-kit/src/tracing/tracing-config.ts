import { Type } from 'typebox'
import { type Config, variable } from '../config.ts'

/** Where traces go, and how many; the variables that every OpenTelemetry SDK reads. */
export const tracingConfig = {
  endpoint: variable(
    'OTEL_EXPORTER_OTLP_ENDPOINT',
    Type.String({
      default: '',
      pattern: '^(?:$|https?://[^\\s]+$)',
      description:
        'A collector that takes OTLP by HTTP, as `http://collector:4318`; without one nothing is traced.',
    }),
  ),
  headers: variable(
    'OTEL_EXPORTER_OTLP_HEADERS',
    Type.Array(Type.String({ pattern: '^[^=\\s]+=' }), {
      default: [],
      description: 'Headers for the collector, as `name=value,name=value` with values percent-encoded.',
    }),
  ),
  serviceName: variable(
    'OTEL_SERVICE_NAME',
    Type.String({ default: '', description: "What traces call this process, unless by the app's name." }),
  ),
  sampler: variable(
    'OTEL_TRACES_SAMPLER',
    Type.Union(
      [
        Type.Literal('always_on'),
        Type.Literal('always_off'),
        Type.Literal('traceidratio'),
        Type.Literal('parentbased_always_on'),
        Type.Literal('parentbased_always_off'),
        Type.Literal('parentbased_traceidratio'),
      ],
      {
        default: 'parentbased_always_on',
        description:
          'Which requests are traced; `parentbased` does as the caller does who sends a `traceparent`.',
      },
    ),
  ),
  ratio: variable(
    'OTEL_TRACES_SAMPLER_ARG',
    Type.Number({
      minimum: 0,
      maximum: 1,
      default: 1,
      description: 'The share of traces that the samplers with `traceidratio` take.',
    }),
  ),
} as const
export type TracingConfig = Config<typeof tracingConfig>

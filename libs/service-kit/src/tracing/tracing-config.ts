import { PATTERN_DESCRIPTION } from '@waymark/contracts/problem-message'
import { Type } from 'typebox'
import { type Config, variable } from '../config.ts'

/** Standard variables of OpenTelemetry SDKs. */
export const tracingConfig = {
  endpoint: variable(
    'OTEL_EXPORTER_OTLP_ENDPOINT',
    Type.String({
      default: '',
      pattern: '^(?:$|https?://[^\\s]+$)',
      [PATTERN_DESCRIPTION]: 'an http or https URL',
      description: 'Collector that accepts OTLP over HTTP: `http://collector:4318`. Empty: no tracing.',
    }),
  ),
  headers: variable(
    'OTEL_EXPORTER_OTLP_HEADERS',
    Type.Array(Type.String({ pattern: '^[^=\\s]+=', [PATTERN_DESCRIPTION]: 'name=value' }), {
      default: [],
      description: 'Headers for the collector: `name=value,name=value` with percent-encoded values.',
    }),
  ),
  serviceName: variable(
    'OTEL_SERVICE_NAME',
    Type.String({ default: '', description: 'Name of the service in traces. Default: the name of the app.' }),
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
          "Selects the traced requests. `parentbased` follows the decision in the caller's `traceparent`.",
      },
    ),
  ),
  ratio: variable(
    'OTEL_TRACES_SAMPLER_ARG',
    Type.Number({
      minimum: 0,
      maximum: 1,
      default: 1,
      description: 'Share of traces that `traceidratio` samplers record.',
    }),
  ),
} as const
export type TracingConfig = Config<typeof tracingConfig>

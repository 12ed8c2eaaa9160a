import { variable } from '@waymark/service-kit'
import { Type } from 'typebox'

/** The variables of streams of changed flags and of their definitions. */
export const flagStreamConfig = {
  total: variable(
    'FLAG_STREAMS',
    Type.Integer({
      minimum: 1,
      maximum: 1_000_000,
      default: 20_000,
      description: 'Streams of changed flags at once, per process. Each needs a file descriptor.',
    }),
  ),
  perProject: variable(
    'FLAG_STREAMS_PER_PROJECT',
    Type.Integer({
      minimum: 1,
      maximum: 1_000_000,
      default: 10_000,
      description: 'Those of one project, per process.',
    }),
  ),
  heartbeatMs: variable(
    'FLAG_STREAM_HEARTBEAT_MS',
    Type.Integer({
      minimum: 1_000,
      maximum: 300_000,
      default: 15_000,
      description:
        'After this many silent ms a stream of changed flags gets a comment. Less than the idle timeout of every proxy.',
    }),
  ),
  syncPort: variable(
    'FLAG_SYNC_PORT',
    Type.Integer({
      minimum: 0,
      maximum: 65_535,
      default: 0,
      description:
        'Port of the sync protocol of flagd (gRPC without TLS), by which back ends evaluate decisions themselves. 0: it is not served. The manifests and Docker Compose set 8015.',
    }),
  ),
  syncTotal: variable(
    'FLAG_SYNC_STREAMS',
    Type.Integer({
      minimum: 1,
      maximum: 1_000_000,
      default: 10_000,
      description: 'Streams of flag definitions at once, per process.',
    }),
  ),
  syncPerProject: variable(
    'FLAG_SYNC_STREAMS_PER_PROJECT',
    Type.Integer({
      minimum: 1,
      maximum: 1_000_000,
      default: 5_000,
      description: 'Those of one project, per process.',
    }),
  ),
  syncPerKey: variable(
    'FLAG_SYNC_STREAMS_PER_KEY',
    Type.Integer({
      minimum: 1,
      maximum: 1_000_000,
      default: 2_500,
      description: 'Those of one API key, per process.',
    }),
  ),
} as const

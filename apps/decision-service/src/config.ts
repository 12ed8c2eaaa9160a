import { variable } from '@waymark/service-kit'
import { Type } from 'typebox'

/** The variables of streams of changed flags. */
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
} as const

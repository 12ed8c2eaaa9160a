import { createReadThroughCache } from '@waymark/cache'
import {
  getPipelineStats,
  MAX_COUNTED_FAILURES,
  type PipelineStatsView,
} from '@waymark/contracts/http/pipeline-stats'
import { consumerGroups } from '@waymark/contracts/topics'
import { readOutboxDepth } from '@waymark/pipeline'
import type { Route } from '@waymark/service-kit'
import { countDeadLetters } from '../events/dead-letter-queries.ts'
import type { ManagementDeps } from '../management-deps.ts'

/** For how long one reading of the installation serves all projects. */
const SHARED_MS = 2_000

type Installation = Pick<PipelineStatsView, 'consumerGroups' | 'outbox'>

/** The state of the pipeline: of the installation, and the project's failures. */
export const pipelineStatsRoute = ({ projectRoute, bus, db, log }: ManagementDeps): Route => {
  const readLag = async (): Promise<Installation['consumerGroups']> => {
    try {
      const lags = await bus.readLag(Object.values(consumerGroups))
      return lags.map(({ group, topic, records }) => ({ group, topic, lag: records }))
    } catch (error) {
      log.warn({ err: error }, 'Consumer lag could not be read')
      return null
    }
  }
  const installation = createReadThroughCache<Installation>({
    name: 'pipeline',
    read: async () => {
      const [groups, outbox] = await Promise.all([readLag(), readOutboxDepth(db)])
      // The time at the end, because a queue that does not answer takes longer than a reading is shared.
      return { value: { consumerGroups: groups, outbox }, readAt: performance.now() }
    },
    isCurrent: (_, readAt) => performance.now() - readAt < SHARED_MS,
    // A minute-old state of the pipeline would mislead.
    maxStaleMs: SHARED_MS,
    max: 1,
    now: () => performance.now(),
    log,
  })
  return projectRoute(getPipelineStats, async ({ projectId }) => {
    const [shared, rejectedEvents, deadLetters] = await Promise.all([
      installation.get('installation'),
      db.prisma.rejectedEvent.count({ where: { projectId, replayedAt: null }, take: MAX_COUNTED_FAILURES }),
      countDeadLetters(db.pool, { projectId, open: true }, MAX_COUNTED_FAILURES),
    ])
    if (!shared) throw new Error('The state of the pipeline could not be read')
    const body: PipelineStatsView = { ...shared.value, rejectedEvents, deadLetters }
    return { body }
  })
}

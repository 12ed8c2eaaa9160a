import { chargeWork, createFairQueue, ownerOfProject } from '@waymark/domain/fairness'
import { disconnectSignal } from '@waymark/service-kit'
import type { ProjectReply } from './entity-tag.ts'
import type { ProjectRequest } from './project-route.ts'

/** How many long answers one process gives at once, for one project, for all projects of a tenant, and in total. */
type ConcurrencyLimits = {
  perProject: number
  perTenant: number
  total: number
  /** Their name in error messages. Default: `exports`. */
  what?: string
  /** Whether the latest of a tenant that has many is ended for a tenant that has few. */
  reclaims?: boolean
  /** How long one waits for its place, in ms. Default: not at all. */
  maxWaitMs?: number
}

const RETRY_S = 10

/** The handler of a project's route. */
export type Answer<B, Q, Body> = (request: ProjectRequest<B, Q>) => Promise<ProjectReply<Body>>

/**
 * Limits how many exports or streams of the wrapped routes run at once, so that neither one project nor one tenant with many projects can
 * occupy all of them. Each counts until its answer has ended or failed. Beyond a limit of the caller the answer is 429,
 * beyond that of the process 503.
 */
export const limitConcurrency = ({
  perProject,
  perTenant,
  total,
  what = 'exports',
  reclaims = false,
  maxWaitMs = 0,
}: ConcurrencyLimits): (<B, Q, Body>(answer: Answer<B, Q, Body>) => Answer<B, Q, Body>) => {
  const queue = createFairQueue({
    what,
    capacity: total,
    perTenant,
    lanes: { default: { perProject } },
    retryAfterSeconds: RETRY_S,
  })
  return (answer) => async (asked) => {
    const { projectId, request } = asked
    const end = () => void request.message.socket.destroySoon()
    const owner = ownerOfProject(projectId)
    const onReclaim = reclaims ? end : undefined
    request.onEnd(
      maxWaitMs === 0
        ? queue.acquireNow(owner, { onReclaim })
        : await queue.acquire(owner, { onReclaim, maxWaitMs, signal: disconnectSignal(request) }),
    )
    // They are few, and other reads need not wait for them.
    chargeWork(owner, 'general')
    return answer(asked)
  }
}

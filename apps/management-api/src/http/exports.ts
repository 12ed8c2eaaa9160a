import { createFairQueue, type FairQueue, ownerOfProject, type WorkOwner } from '@waymark/domain/fairness'
import { type Answer, limitConcurrency } from './limit-concurrency.ts'

/**
 * Exports that run at once in this process. Their number bounds the memory, because each holds a part of its answer.
 * Others wait a little, so that a client that repeats refused ones at once takes less time of the process.
 */
const LIMITS = { perProject: 2, perTenant: 4, total: 40, reclaims: true, maxWaitMs: 2_000 }
/** Exports that read and encode at the same time. Others wait for their turn, or for their client. */
const PARTS_AT_ONCE = 2
/** How long an export pauses after a part, by the time that it took: other requests share the thread and the database. */
const PAUSE_FACTOR = 2

/** Wraps the routes of exports. */
export type Exports = <B, Q, Body>(answer: Answer<B, Q, Body>) => Answer<B, Q, Body>

/**
 * Divides this process among its exports, of any kind: how many run, and whose next part is read and encoded. An export
 * that waits for its client takes no turn. When too many run, the latest of the tenant with the most is broken off for one
 * that has fewer.
 */
export const createExports = (): Exports => {
  const parts = createFairQueue({ what: 'parts of exports', capacity: PARTS_AT_ONCE, perTenant: 1 })
  const limited = limitConcurrency(LIMITS)
  return (answer) =>
    limited(async (asked) => {
      const owner = ownerOfProject(asked.projectId)
      const { stream, ...reply } = await answer(asked)
      return { ...reply, ...(stream && { stream: inTurns(stream, parts, owner) }) }
    })
}

async function* inTurns<T>(pieces: AsyncGenerator<T>, turns: FairQueue, owner: WorkOwner): AsyncGenerator<T> {
  const next = async (): Promise<IteratorResult<T>> => {
    const release = await turns.acquire(owner, { patient: true })
    const begunAt = performance.now()
    try {
      return await pieces.next()
    } finally {
      after(PAUSE_FACTOR * (performance.now() - begunAt), release)
    }
  }
  try {
    for (let piece = await next(); !piece.done; piece = await next()) yield piece.value
  } finally {
    await pieces.return(undefined)
  }
}

const after = (ms: number, run: () => void): void => {
  if (ms < 1) run()
  else setTimeout(run, ms).unref()
}

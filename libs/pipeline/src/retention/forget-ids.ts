import type { Pool } from 'pg'
import { forgetIds, setIdRemoval, takeIdRemoval } from './id-removal-queries.ts'

const DAY_MS = 24 * 60 * 60 * 1000
/** How long a process has a project, renewed with every batch. */
const LEASE_SECONDS = 60
const INTERVAL_SECONDS = 24 * 60 * 60
const BATCH_IDS = 5_000
/** Batches of one run, after which other projects have their turn. */
const RUN_BATCHES = 20

type ForgetIdsDeps = {
  pool: Pool
  /** The current time in ms. */
  now: () => number
  batchIds?: number
}

/**
 * Forgets the ids of events that are older than the setting `deduplicationDays` of their project: looks at all of them in
 * the order of their keys, once a day, in short statements. It may stop at any point and continues there.
 * @returns a function that does a part of one project and returns 1, or 0 when none is due
 */
export const createForgetIds =
  ({ pool, now, batchIds = BATCH_IDS }: ForgetIdsDeps) =>
  async (signal: AbortSignal): Promise<number> => {
    const removal = await takeIdRemoval(pool, LEASE_SECONDS)
    if (!removal) return 0
    const { projectId, days } = removal
    const before = new Date(now() - days * DAY_MS)
    let after = removal.after
    for (let batch = 0; batch < RUN_BATCHES && !signal.aborted; batch++) {
      const { last } = await forgetIds(pool, { projectId, after }, before, batchIds)
      if (last === null) {
        await setIdRemoval(pool, projectId, null, INTERVAL_SECONDS)
        return 1
      }
      after = last
      await setIdRemoval(pool, projectId, after, LEASE_SECONDS)
    }
    await setIdRemoval(pool, projectId, after, 0)
    return 1
  }

import type { Cache } from '@waymark/cache'
import type { ClientBase } from 'pg'
import { deleteErasureJob, type ErasureJob, findErasureJobs, lockErasureJob } from './erasure-job-queries.ts'
import { findClickIds } from './person-events.ts'
import {
  bindPerson,
  type PersonalData,
  type PersonParameters,
  personalData,
} from './personal-data-queries.ts'
import type { PurgeDeps } from './purge-queries.ts'

type PurgerDeps = PurgeDeps & { cache: Cache; data?: readonly PersonalData[] }

/**
 * Deletes the data of erased people from all stores, a thousand rows per transaction. It may stop at any point: the job is
 * kept until it is done, and every step is idempotent.
 */
export const createPurger = ({ cache, data = personalData, ...deps }: PurgerDeps) => {
  const runStep = (
    job: ErasureJob,
    purge: NonNullable<PersonalData['purge']>,
    clickIds: string[],
  ): Promise<number | 'busy' | 'done'> =>
    deps.db.transaction(async (client) => {
      const lock = await lockErasureJob(client, job)
      if (lock !== 'locked') return lock
      if (typeof purge !== 'string') return purge(deps, client, job)
      return runStatement(client, purge, { ...job, clickIds })
    })

  /** Returns true when nothing is left, and false when it was stopped or another process is at work on the job. */
  const purge = async (job: ErasureJob, signal: AbortSignal): Promise<boolean> => {
    // Before the events are deleted, which are the only link from a person to clicks.
    const clickIds = await findClickIds(deps.eventStore, job)
    for (const { purge, cacheKeys } of data) {
      for (const key of (await cacheKeys?.(job, deps)) ?? []) await cache.delete(key)
      for (let purged: number | 'busy' | 'done' = purge ? 1 : 0; purge && purged !== 0; ) {
        purged = await runStep(job, purge, clickIds)
        if (purged === 'done') return true
        if (purged === 'busy' || signal.aborted) return false
      }
    }
    await deleteErasureJob(deps.db.pool, job)
    return true
  }

  return {
    purge,
    /** Continues unfinished erasures. Returns the number of finished ones. */
    purgeAll: async (signal: AbortSignal): Promise<number> => {
      let finished = 0
      for (const job of await findErasureJobs(deps.db.pool)) {
        if (signal.aborted) break
        if (await purge(job, signal)) finished++
      }
      return finished
    },
  }
}

const runStatement = async (client: ClientBase, text: string, person: PersonParameters): Promise<number> => {
  const { rowCount } = await client.query(bindPerson(text, person))
  return rowCount ?? 0
}

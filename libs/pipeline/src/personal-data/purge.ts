import type { Cache } from '@waymark/cache'
import type { ClientBase } from 'pg'
import { type ErasureJob, endErasureJob, findErasureJobs, lockErasureJob } from './erasure-job-queries.ts'
import { countRemoved } from './erasure-record-queries.ts'
import { findClickIds } from './person-events.ts'
import {
  bindPerson,
  type PersonalData,
  type PersonParameters,
  personalData,
} from './personal-data-queries.ts'
import type { PurgeDeps, Purged } from './purge-queries.ts'

type PurgerDeps = PurgeDeps & { cache: Cache; data?: readonly PersonalData[] }

/**
 * Deletes the data of erased people from all stores, a thousand rows per transaction. It may stop at any point: the job is
 * kept until it is done, and every step is idempotent.
 */
export const createPurger = ({ cache, data = personalData, ...deps }: PurgerDeps) => {
  const runStep = (
    job: ErasureJob,
    name: string,
    purge: NonNullable<PersonalData['purge']>,
    clickIds: string[],
  ): Promise<Purged | 'busy' | 'done'> =>
    deps.db.transaction(async (client) => {
      const lock = await lockErasureJob(client, job)
      if (lock !== 'locked') return lock
      const purged =
        typeof purge === 'string'
          ? await runStatement(client, purge, { ...job, clickIds })
          : await purge(deps, client, job)
      if (purged.removed > 0) await countRemoved(client, job, name, purged.removed)
      return purged
    })

  /** Returns true when nothing is left, and false when it was stopped or another process is at work on the job. */
  const purge = async (job: ErasureJob, signal: AbortSignal): Promise<boolean> => {
    // Before the events are deleted, which are the only link from a person to clicks.
    const clickIds = await findClickIds(deps.eventStore, job)
    for (const { name, purge, cacheKeys } of data) {
      for (const key of (await cacheKeys?.(job, deps)) ?? []) await cache.delete(key)
      for (let left = purge !== undefined; purge && left; ) {
        const purged = await runStep(job, name, purge, clickIds)
        if (purged === 'done') return true
        if (purged === 'busy' || signal.aborted) return false
        left = purged.removed > 0 && purged.left !== false
      }
    }
    await endErasureJob(deps.db.pool, job)
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

const runStatement = async (client: ClientBase, text: string, person: PersonParameters): Promise<Purged> => {
  const { rowCount } = await client.query(bindPerson(text, person))
  return { removed: rowCount ?? 0 }
}

import type { Cache } from '@waymark/cache'
import type { ClientBase } from 'pg'
import type { ErasureJob, PurgeDeps } from './erasure-job.ts'
import { deleteErasureJob, findErasureJobs, lockErasureJob } from './erasure-job-queries.ts'
import { bindPerson, type PersonalData, personalData } from './personal-data-queries.ts'

export type PurgerDeps = PurgeDeps & { cache: Cache; data?: readonly PersonalData[] }

/**
 * Takes what is stored of erased people out of every store, a thousand rows a transaction. It may be stopped at any
 * point and in any process: the job stays until nothing is left, and doing a part of it again does no harm.
 */
export const createPurger = ({ cache, data = personalData, ...deps }: PurgerDeps) => {
  const runStep = (job: ErasureJob, purge: NonNullable<PersonalData['purge']>): Promise<number | 'busy'> =>
    deps.db.transaction(async (client) => {
      if (!(await lockErasureJob(client, job))) return 'busy'
      return typeof purge === 'string' ? runStatement(client, purge, job) : purge(deps, client, job)
    })

  /** Answers whether nothing is left of the person: `false` when it was stopped, or when another process is at it. */
  const purge = async (job: ErasureJob, signal: AbortSignal): Promise<boolean> => {
    for (const { purge, cacheKeys } of data) {
      for (const key of (await cacheKeys?.(job, deps)) ?? []) await cache.delete(key)
      for (let purged: number | 'busy' = purge ? 1 : 0; purge && purged !== 0; ) {
        purged = await runStep(job, purge)
        if (purged === 'busy' || signal.aborted) return false
      }
    }
    // The ids in the job were the last that was known of the person.
    await deleteErasureJob(deps.db.pool, job)
    return true
  }

  return {
    purge,
    /** Goes on with every erasure that is not finished; answers how many it finished. */
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

const runStatement = async (client: ClientBase, text: string, job: ErasureJob): Promise<number> => {
  const { rowCount } = await client.query(bindPerson(text, job))
  return rowCount ?? 0
}

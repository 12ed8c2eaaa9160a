import type { Cache } from '@waymark/cache'
import type { ClientBase } from 'pg'
import { bindPerson } from './bind-person.ts'
import type { ErasureJob, PurgeDeps } from './erasure-job.ts'
import { type PersonalData, personalData } from './personal-data.ts'

type JobRow = {
  id: string
  project_id: string
  profile_ids: string[]
  visitor_ids: string[]
  user_ids: string[]
  erased_at: Date
}

// A job that another process is at is left to it; what that process has done is then committed and seen.
const LOCK_JOB = 'SELECT FROM ingest.erasure_jobs WHERE id = $1 FOR UPDATE SKIP LOCKED'
const JOBS = `SELECT id, project_id, profile_ids, visitor_ids, user_ids, erased_at FROM ingest.erasure_jobs
  ORDER BY id LIMIT 100`

export type PurgerDeps = PurgeDeps & { cache: Cache; data?: readonly PersonalData[] }

/**
 * Takes what is stored of erased people out of every store, a thousand rows a transaction. It may be stopped at any
 * point and in any process: the job stays until nothing is left, and doing a part of it again does no harm.
 */
export const createPurger = ({ cache, data = personalData, ...deps }: PurgerDeps) => {
  const runStep = (job: ErasureJob, purge: NonNullable<PersonalData['purge']>): Promise<number | 'busy'> =>
    deps.db.transaction(async (client) => {
      const { rowCount } = await client.query(LOCK_JOB, [job.id])
      if (rowCount === 0) return 'busy'
      return typeof purge === 'string' ? runStatement(client, purge, job) : purge(deps, client, job)
    })

  /** Answers whether nothing is left of the person: `false` when it was stopped, or when another process is at it. */
  const purge = async (job: ErasureJob, signal: AbortSignal): Promise<boolean> => {
    for (const { purge, cacheKeys } of data) {
      for (const key of cacheKeys?.(job) ?? []) await cache.delete(key)
      for (let purged: number | 'busy' = purge ? 1 : 0; purge && purged !== 0; ) {
        purged = await runStep(job, purge)
        if (purged === 'busy' || signal.aborted) return false
      }
    }
    // The ids in the job were the last that was known of the person.
    await deps.db.pool.query('DELETE FROM ingest.erasure_jobs WHERE id = $1', [job.id])
    return true
  }

  return {
    purge,
    /** Goes on with every erasure that is not finished; answers how many it finished. */
    purgeAll: async (signal: AbortSignal): Promise<number> => {
      const { rows } = await deps.db.pool.query<JobRow>(JOBS)
      let finished = 0
      for (const row of rows) {
        if (signal.aborted) break
        if (await purge(toJob(row), signal)) finished++
      }
      return finished
    },
  }
}

const runStatement = async (client: ClientBase, text: string, job: ErasureJob): Promise<number> => {
  const { rowCount } = await client.query(bindPerson(text, job))
  return rowCount ?? 0
}

const toJob = (row: JobRow): ErasureJob => ({
  id: row.id,
  projectId: row.project_id,
  profileIds: row.profile_ids,
  visitorIds: row.visitor_ids,
  userIds: row.user_ids,
  erasedAt: row.erased_at,
})

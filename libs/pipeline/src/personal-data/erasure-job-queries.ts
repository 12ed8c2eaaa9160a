import type { ClientBase, Pool } from 'pg'

/** Deletes a person's data from all stores: everything that was received until `erasedAt`. */
export type ErasureJob = {
  id: string
  projectId: string
  /** The profile and those that were merged into it. */
  profileIds: string[]
  visitorIds: string[]
  userIds: string[]
  erasedAt: Date
}

type JobRow = {
  id: string
  project_id: string
  profile_ids: string[]
  visitor_ids: string[]
  user_ids: string[]
  erased_at: Date
}

// Skips a job that another process has locked; its work is committed and visible once the lock is free.
const LOCK_JOB = 'SELECT FROM ingest.erasure_jobs WHERE id = $1 FOR UPDATE SKIP LOCKED'
const EXISTS = 'SELECT FROM ingest.erasure_jobs WHERE id = $1'
const JOB_OF_PROJECT = 'SELECT FROM ingest.erasure_jobs WHERE project_id = $1 LIMIT 1'
const JOBS = `SELECT id, project_id, profile_ids, visitor_ids, user_ids, erased_at FROM ingest.erasure_jobs
  ORDER BY id LIMIT 100`

/** Locks a job until the end of the transaction, unless another process has it or it is done. */
export const lockErasureJob = async (
  client: ClientBase,
  { id }: ErasureJob,
): Promise<'locked' | 'busy' | 'done'> => {
  const { rowCount } = await client.query(LOCK_JOB, [id])
  if (rowCount !== 0) return 'locked'
  const { rows } = await client.query(EXISTS, [id])
  return rows.length > 0 ? 'busy' : 'done'
}

/** Whether data of erased people of a project is still to be removed. */
export const hasErasureJobs = async (pool: Pool, projectId: string): Promise<boolean> => {
  const { rows } = await pool.query(JOB_OF_PROJECT, [projectId])
  return rows.length > 0
}

/** Up to 100 of the oldest unfinished jobs. */
export const findErasureJobs = async (pool: Pool): Promise<ErasureJob[]> => {
  const { rows } = await pool.query<JobRow>(JOBS)
  return rows.map(toJob)
}

const END = `
  WITH ended AS (DELETE FROM ingest.erasure_jobs WHERE id = $1 RETURNING id)
  UPDATE ingest.erasure_records record SET removed_at = now() FROM ended WHERE record.id = ended.id`

/** Ends a job that has nothing left to remove, and records when. */
export const endErasureJob = async (pool: Pool, { id }: ErasureJob): Promise<void> => {
  await pool.query(END, [id])
}

const toJob = (row: JobRow): ErasureJob => ({
  id: row.id,
  projectId: row.project_id,
  profileIds: row.profile_ids,
  visitorIds: row.visitor_ids,
  userIds: row.user_ids,
  erasedAt: row.erased_at,
})

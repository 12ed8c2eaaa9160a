import { NOW } from '@waymark/database'
import type { Pool } from 'pg'

/** A project whose ids are forgotten after `days`, and the key up to which it is done. */
export type IdRemoval = { projectId: string; days: number; after: string }

// A row that another process has taken in the meantime is not due any more.
const TAKE = `
  INSERT INTO ingest.id_removals AS known (project_id, due_at, after_key)
  SELECT projects.id, now() + make_interval(secs => $1), '00000000-0000-0000-0000-000000000000'
  FROM core.projects LEFT JOIN ingest.id_removals runs ON runs.project_id = projects.id
  WHERE projects.settings ? 'deduplicationDays' AND (runs.due_at IS NULL OR runs.due_at <= ${NOW})
  ORDER BY runs.due_at NULLS FIRST, projects.id LIMIT 1
  ON CONFLICT (project_id) DO UPDATE SET due_at = excluded.due_at WHERE known.due_at <= ${NOW}
  RETURNING known.project_id AS "projectId", known.after_key AS after, (
    SELECT (settings->>'deduplicationDays')::int FROM core.projects WHERE projects.id = known.project_id
  ) AS days`

/** Takes a due project for `seconds`; `undefined` when none is due. */
export const takeIdRemoval = async (pool: Pool, seconds: number): Promise<IdRemoval | undefined> =>
  (await pool.query<IdRemoval>(TAKE, [seconds])).rows[0]

const FORGET = `
  WITH portion AS MATERIALIZED (
    SELECT event_key, received_at FROM ingest.event_ids WHERE project_id = $1 AND event_key > $2
    ORDER BY event_key LIMIT $4
  ), forgotten AS (
    DELETE FROM ingest.event_ids
    WHERE project_id = $1 AND received_at < $3
      AND event_key = ANY (ARRAY(SELECT event_key FROM portion WHERE received_at < $3))
    RETURNING 1
  )
  SELECT (SELECT event_key FROM portion ORDER BY event_key OFFSET $4 - 1) AS last,
    (SELECT count(*) FROM forgotten)::int AS forgotten`

/**
 * Forgets the ids of the next `limit` ones of a project that were claimed before a time.
 * @returns the last key, `null` at the end, and how many were forgotten
 */
export const forgetIds = async (
  pool: Pool,
  { projectId, after }: Pick<IdRemoval, 'projectId' | 'after'>,
  before: Date,
  limit: number,
): Promise<{ last: string | null; forgotten: number }> => {
  const { rows } = await pool.query<{ last: string | null; forgotten: number }>(FORGET, [
    projectId,
    after,
    before,
    limit,
  ])
  return rows[0] ?? { last: null, forgotten: 0 }
}

const SET_REMOVAL = `
  UPDATE ingest.id_removals SET after_key = coalesce($2::uuid, '00000000-0000-0000-0000-000000000000'),
    due_at = now() + make_interval(secs => $3)
  WHERE project_id = $1`

/** Records how far a removal has come, `null` for from the beginning, and when it is due next. */
export const setIdRemoval = async (
  pool: Pool,
  projectId: string,
  after: string | null,
  inSeconds: number,
): Promise<void> => {
  await pool.query(SET_REMOVAL, [projectId, after, inSeconds])
}

import type { Pool } from 'pg'
import type { EventPlace } from '../stored-events/index.ts'

/** A project whose events are removed after `days`. */
export type ProjectRetention = { projectId: string; days: number }

type ProjectRow = { project_id: string; days: number }

const DUE = `
  SELECT projects.id AS project_id, (projects.settings->>'retentionDays')::int AS days
  FROM core.projects LEFT JOIN ingest.retention_runs runs ON runs.project_id = projects.id
  WHERE projects.settings ? 'retentionDays'
    AND (runs.due_at IS NULL OR runs.due_at <= now() OR runs.days <> (projects.settings->>'retentionDays')::int)
  ORDER BY runs.due_at NULLS FIRST, projects.id LIMIT 100`

// A row that another process has taken in the meantime is not due any more.
const TAKE = `
  INSERT INTO ingest.retention_runs AS known (project_id, days, due_at)
  VALUES ($1, $2, now() + make_interval(secs => $3))
  ON CONFLICT (project_id) DO UPDATE SET days = excluded.days, due_at = excluded.due_at
  WHERE known.due_at <= now() OR known.days <> excluded.days`
// Not once the setting has changed, which another process may have noticed first.
const RENEW = `
  UPDATE ingest.retention_runs runs SET due_at = now() + make_interval(secs => $3)
  FROM core.projects WHERE projects.id = runs.project_id AND runs.project_id = $1 AND runs.days = $2
    AND (projects.settings->>'retentionDays')::int = $2`
const SET_DUE = `
  UPDATE ingest.retention_runs SET due_at = now() + make_interval(secs => $2) WHERE project_id = $1`

/** Up to 100 projects whose removal is due, also those whose setting has changed. */
export const findDueProjects = async (pool: Pool): Promise<ProjectRetention[]> => {
  const { rows } = await pool.query<ProjectRow>(DUE)
  return rows.map(({ project_id, days }) => ({ projectId: project_id, days }))
}

/** Takes the removal of a project for `seconds`. False when another process has it. */
export const takeRemoval = async (
  pool: Pool,
  { projectId, days }: ProjectRetention,
  seconds: number,
): Promise<boolean> => {
  const { rowCount } = await pool.query(TAKE, [projectId, days, seconds])
  return rowCount === 1
}

/** Keeps the removal of a project for `seconds`. False when its setting has changed, after which it must end. */
export const renewRemoval = async (
  pool: Pool,
  { projectId, days }: ProjectRetention,
  seconds: number,
): Promise<boolean> => {
  const { rowCount } = await pool.query(RENEW, [projectId, days, seconds])
  return rowCount === 1
}

/** Sets when the removal of a project is due next. */
export const setRemovalDue = async (pool: Pool, projectId: string, inSeconds: number): Promise<void> => {
  await pool.query(SET_DUE, [projectId, inSeconds])
}

// An event that waits for the archive, such as one that was stored late, stays until it is there.
const isQueued = (event: string): string => `EXISTS (
    SELECT FROM ingest.archive_queue queue WHERE queue.project_id = $1
      AND queue.received_at = ${event}.received_at AND queue.event_key = ${event}.event_key
  )`
// Unlike `min`, which reads all events once there is a further condition, it ends at the first row of the index.
const OLDEST = `
  SELECT received_at AS at FROM ingest.events
  WHERE project_id = $1 AND received_at < $2 AND NOT ${isQueued('events')} ORDER BY received_at LIMIT 1`
// In the order of the primary key, from the end of the batch before, so that deleted rows are not searched again.
const DELETE_BATCH = `
  WITH gone AS (
    SELECT received_at, event_key FROM ingest.events
    WHERE project_id = $1 AND received_at >= $2 AND received_at < $3 AND (received_at, event_key) > ($2, $4)
    ORDER BY received_at, event_key LIMIT $5
  ), deleted AS (
    DELETE FROM ingest.events USING gone
    WHERE events.project_id = $1 AND events.received_at >= $2 AND events.received_at < $3
      AND events.received_at = gone.received_at AND events.event_key = gone.event_key
      AND NOT ${isQueued('gone')}
  )
  SELECT received_at AS at, event_key AS key FROM gone ORDER BY received_at, event_key OFFSET $5 - 1`

/** When the earliest event of a project before `before` was received that does not wait for the archive. */
export const findOldestReceipt = async (
  pool: Pool,
  projectId: string,
  before: Date,
): Promise<Date | undefined> => {
  const { rows } = await pool.query<{ at: Date | null }>(OLDEST, [projectId, before])
  return rows[0]?.at ?? undefined
}

/**
 * Deletes up to `limit` events of a project after a place and before a time, the earliest first, without those that wait
 * for the archive. Their ids are kept, so that an event that is sent again is not stored.
 * @returns the place after which the next batch begins; undefined when none is left
 */
export const deleteEventBatch = async (
  pool: Pool,
  projectId: string,
  { after, to }: { after: EventPlace; to: Date },
  limit: number,
): Promise<EventPlace | undefined> => {
  const { rows } = await pool.query<EventPlace>(DELETE_BATCH, [projectId, after.at, to, after.key, limit])
  return rows[0]
}

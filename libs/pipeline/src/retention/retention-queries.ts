import { NOW } from '@waymark/database'
import type { Pool } from 'pg'

/** A project whose events are removed after `days`. */
export type ProjectRetention = { projectId: string; days: number }

type ProjectRow = { project_id: string; days: number }

const DUE = `
  SELECT projects.id AS project_id, (projects.settings->>'retentionDays')::int AS days
  FROM core.projects LEFT JOIN ingest.retention_runs runs ON runs.project_id = projects.id
  WHERE projects.settings ? 'retentionDays'
    AND (runs.due_at IS NULL OR runs.due_at <= ${NOW} OR runs.days <> (projects.settings->>'retentionDays')::int)
  ORDER BY runs.due_at NULLS FIRST, projects.id LIMIT 100`

// A row that another process has taken in the meantime is not due any more.
const TAKE = `
  INSERT INTO ingest.retention_runs AS known (project_id, days, due_at)
  VALUES ($1, $2, now() + make_interval(secs => $3))
  ON CONFLICT (project_id) DO UPDATE SET days = excluded.days, due_at = excluded.due_at
  WHERE known.due_at <= ${NOW} OR known.days <> excluded.days`
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

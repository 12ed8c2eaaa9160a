import type { Pool } from 'pg'

/** Selects `change_id` and `subject` of the changes within the last `$1` ms. */
export type ChangesQuery = { name: string; text: string }

export const CONFIG_CHANGES: ChangesQuery = {
  name: 'config-changes',
  text: `
    SELECT id::text AS change_id, project_id::text AS subject FROM core.config_changes
    WHERE changed_at > now() - $1 * interval '1 millisecond'`,
}

// The version is the time of the database in microseconds. A poll sees all changes that were committed before it.
const withVersion = (text: string): string => `
  SELECT (extract(epoch FROM now()) * 1000000)::bigint::text AS version, changes.*
  FROM (VALUES (1)) AS one LEFT JOIN (${text}) AS changes ON true`

type Row = { version?: string } & (
  | { change_id: string; subject: string }
  | { change_id: null; subject: null }
)

/**
 * Reads the changes of the last `withinMs`, and the version that has them: the changes that were committed before it.
 */
export const readRecentChanges = async (
  pool: Pool,
  { name, text }: ChangesQuery,
  withinMs: number,
): Promise<{ version: number; changes: { id: string; subject: string }[] }> => {
  const { rows } = await pool.query<Row>({ name, text: withVersion(text), values: [withinMs] })
  return {
    version: Number(rows[0]?.version ?? 0),
    changes: rows.flatMap(({ change_id, subject }) => (change_id === null ? [] : { id: change_id, subject })),
  }
}

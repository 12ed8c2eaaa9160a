import type { Database } from '@waymark/database'

/** Whether a project has events. */
export const hasEvents = async ({ pool }: Pick<Database, 'pool'>, projectId: string): Promise<boolean> => {
  const { rowCount } = await pool.query('SELECT FROM ingest.events WHERE project_id = $1 LIMIT 1', [
    projectId,
  ])
  return rowCount !== 0
}

import type { Pool } from 'pg'

/** A trigger at the time of sending. */
export type SendingTrigger = {
  id: string
  version: number
  status: string
  subject: string
  html: string
  from: string | null
  project: { id: string; name: string }
}

const READ = `
  SELECT t.id, t.version, t.status, t.subject, t.html, t."from", jsonb_build_object('id', p.id, 'name', p.name) AS project
  FROM email.triggers t JOIN core.projects p ON p.id = t.project_id WHERE t.id = ANY($1::uuid[])`

/** Reads triggers by id. */
export const readTriggers = async (
  pool: Pool,
  ids: readonly string[],
): Promise<Map<string, SendingTrigger>> => {
  const { rows } = await pool.query<SendingTrigger>({
    name: 'read-triggers',
    text: READ,
    values: [[...new Set(ids)]],
  })
  return new Map(rows.map((trigger) => [trigger.id, trigger]))
}

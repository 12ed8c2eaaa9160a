import type { StoredWebhook } from '@waymark/domain/webhook'
import type { Pool } from 'pg'

const READ = `
  SELECT id, project_id AS "projectId", version, topics, event_names AS "eventNames", filter,
    activated_at AS "activatedAt"
  FROM webhook.webhooks WHERE project_id = ANY($1::uuid[]) AND status = 'active' ORDER BY id`

/** The active webhooks of projects. */
export const readActiveWebhooks = async (
  pool: Pool,
  projectIds: readonly string[],
): Promise<StoredWebhook[]> => {
  const { rows } = await pool.query<StoredWebhook>({
    name: 'active-webhooks',
    text: READ,
    values: [projectIds],
  })
  return rows
}

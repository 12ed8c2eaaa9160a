import { type CompiledWebhook, compileWebhook, type StoredWebhook } from '@waymark/domain'
import { LRUCache } from 'lru-cache'
import type { Pool } from 'pg'

/** Filters that stay compiled. */
const MAX_COMPILED = 10_000

const READ = `
  SELECT id, project_id AS "projectId", version, topics, event_names AS "eventNames", filter,
    activated_at AS "activatedAt"
  FROM webhook.webhooks WHERE project_id = ANY($1::uuid[]) AND status = 'active' ORDER BY id`

/** Reads the active webhooks of projects, by project, with their filters compiled once per version. */
export const createReadWebhooks = (pool: Pool) => {
  const compiled = new LRUCache<string, CompiledWebhook['matches']>({ max: MAX_COMPILED })
  const compile = (webhook: StoredWebhook): CompiledWebhook => {
    const key = `${webhook.id}/${webhook.version}`
    const matches = compiled.get(key) ?? compileWebhook(webhook).matches
    compiled.set(key, matches)
    return { webhook, matches }
  }
  return async (projectIds: readonly string[]): Promise<Map<string, CompiledWebhook[]>> => {
    if (projectIds.length === 0) return new Map()
    const { rows } = await pool.query<StoredWebhook>({
      name: 'active-webhooks',
      text: READ,
      values: [projectIds],
    })
    return Map.groupBy(rows.map(compile), ({ webhook }) => webhook.projectId)
  }
}

export type ReadWebhooks = ReturnType<typeof createReadWebhooks>

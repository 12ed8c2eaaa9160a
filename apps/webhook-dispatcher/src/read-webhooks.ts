import { type CompiledWebhook, compileWebhook, type StoredWebhook } from '@waymark/domain/webhook'
import { LRUCache } from 'lru-cache'
import type { Pool } from 'pg'
import { readActiveWebhooks } from './webhook-queries.ts'

/** Filters that stay compiled. */
const MAX_COMPILED = 10_000

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
    const webhooks = await readActiveWebhooks(pool, projectIds)
    return Map.groupBy(webhooks.map(compile), ({ webhook }) => webhook.projectId)
  }
}

export type ReadWebhooks = ReturnType<typeof createReadWebhooks>

import { compileMessage } from '@waymark/domain'
import { LRUCache } from 'lru-cache'
import type { Pool } from 'pg'

/** A trigger as it is at the moment of sending. */
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

const MAX_COMPILED = 1_000

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

type Render = Awaited<ReturnType<typeof compileMessage>>

/** Compiles the templates of triggers, those of one version once. */
export const createRenderers = () => {
  const compiled = new LRUCache<string, Promise<Render>>({ max: MAX_COMPILED })
  return (trigger: SendingTrigger): Promise<Render> => {
    const key = `${trigger.id}/${trigger.version}`
    const known = compiled.get(key)
    if (known) return known
    const fresh = compileMessage(trigger)
    compiled.set(key, fresh)
    return fresh
  }
}

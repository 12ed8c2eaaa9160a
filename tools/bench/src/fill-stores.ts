import type { Database } from '@waymark/database'
import { v7 as uuidv7 } from 'uuid'

/** The size of a database before the measurement. */
export type Stored = { events: number; keys: number; links: number }

const EVENTS_AT_ONCE = 500_000

const SCHEMA = {
  type: 'object',
  properties: {
    url: { type: 'string' },
    referrer: { type: 'string' },
    title: { type: 'string', maxLength: 200 },
    price: { type: 'integer', minimum: 0 },
    currency: { type: 'string', pattern: '^[A-Z]{3}$' },
  },
  required: ['url'],
}

const DEFINITION = `
  INSERT INTO core.event_definitions (id, project_id, name, schema) VALUES ($1, $2, 'page_view', $3)`
const EVENTS = `
  INSERT INTO ingest.event_ids (project_id, event_key, received_at)
  SELECT $1, gen_random_uuid(), now() - random() * interval '20 hours' FROM generate_series($2::int, $3::int) AS n`
const KEYS = `
  INSERT INTO core.api_keys (id, key_id, project_id, name, kind, scopes, secret_hash)
  SELECT gen_random_uuid(), lpad(n::text, 10, '0'), $1, 'Key ' || n, 'pub', '{events:write}', sha256(n::text::bytea)
  FROM generate_series(1, $2::int) AS n`
const LINKS = `
  INSERT INTO link.links (id, project_id, code, destination, tags)
  SELECT gen_random_uuid(), $1, 'bench-' || n, 'https://shop.example/shoes/' || n || '?color=red', '{}'
  FROM generate_series(1, $2::int) AS n`

/** Adds a catalog and the given numbers of claimed event ids, keys and links to a project. */
export const fillStores = async (
  { pool }: Database,
  projectId: string,
  { events, keys, links }: Stored,
): Promise<void> => {
  await pool.query(DEFINITION, [uuidv7(), projectId, SCHEMA])
  for (let from = 1; from <= events; from += EVENTS_AT_ONCE) {
    await pool.query(EVENTS, [projectId, from, Math.min(events, from + EVENTS_AT_ONCE - 1)])
  }
  await pool.query(KEYS, [projectId, keys])
  await pool.query(LINKS, [projectId, links])
  // Prevents an autovacuum during the measurement; parallel workers would need more shared memory than containers have.
  await pool.query('VACUUM (ANALYZE, PARALLEL 0)')
}

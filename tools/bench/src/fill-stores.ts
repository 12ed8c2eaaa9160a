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
  WITH made AS (
    SELECT gen_random_uuid() AS event_key, now() - random() * interval '20 hours' AS received_at, n
    FROM generate_series($2::int, $3::int) AS n
  ), claimed AS (
    INSERT INTO ingest.event_ids (project_id, event_key, received_at) SELECT $1, event_key, received_at FROM made
  )
  INSERT INTO ingest.events (project_id, event_key, received_at, event_id, event_name, visitor_id, properties, timestamp,
    click_ids, warnings, context)
  SELECT $1, event_key, received_at, event_key::text, 'page_view', 'visitor-' || n % 100000,
    '{"url":"https://shop.example/shoes/red","price":4990,"currency":"EUR"}', received_at, '{}', '[]', '{}'
  FROM made`
const KEYS = `
  INSERT INTO core.api_keys (id, key_id, project_id, name, kind, scopes, secret_hash)
  SELECT gen_random_uuid(), lpad(n::text, 10, '0'), $1, 'Key ' || n, 'pub', '{events:write}', sha256(n::text::bytea)
  FROM generate_series(1, $2::int) AS n`
const LINKS = `
  INSERT INTO link.links (id, project_id, code, destination, tags)
  SELECT gen_random_uuid(), $1, 'bench-' || n, 'https://shop.example/shoes/' || n || '?color=red', '{}'
  FROM generate_series(1, $2::int) AS n`

/** Adds a catalog and the given numbers of events, keys and links to a project. */
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

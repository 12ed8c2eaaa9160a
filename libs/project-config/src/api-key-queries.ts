import { type ApiKeyKind, type ApiKeyScope, apiKeyScopes } from '@waymark/contracts/api-key'
import type { ValidationMode } from '@waymark/contracts/project-settings'
import { compileValidator } from '@waymark/contracts/validator'
import { bulkColumns } from '@waymark/database'
import type { Pool } from 'pg'
import { type Static, Type } from 'typebox'

const NullableInteger = Type.Unsafe<number | null>({ type: ['integer', 'null'] })
/** A key as stored and cached. Times in ms since the epoch. */
const StoredKey = Type.Object({
  id: Type.String(),
  tenantId: Type.String(),
  projectId: Type.String(),
  kind: Type.Enum(['pub', 'sec']),
  scopes: Type.Array(Type.Enum(apiKeyScopes)),
  validationMode: Type.Unsafe<ValidationMode | null>({ enum: ['off', 'warn', 'enforce', null] }),
  allowedOrigins: Type.Array(Type.String()),
  secretHash: Type.String(),
  requestsPerMinute: NullableInteger,
  environment: Type.String(),
  expiresAt: NullableInteger,
  revokedAt: NullableInteger,
})
export type StoredKey = Static<typeof StoredKey>

export const storedKey = compileValidator(StoredKey)

// The keys of an archived project count as revoked.
const SELECT = `
  SELECT k.id, p.tenant_id, k.project_id, k.kind, k.scopes, encode(k.secret_hash, 'base64') AS secret_hash, k.validation_mode,
    k.allowed_origins, k.requests_per_minute, k.environment, k.expires_at, least(k.revoked_at, p.archived_at) AS revoked_at
  FROM core.api_keys k JOIN core.projects p ON p.id = k.project_id WHERE k.key_id = $1`

type Row = {
  id: string
  tenant_id: string
  project_id: string
  kind: ApiKeyKind
  scopes: ApiKeyScope[]
  secret_hash: string
  validation_mode: ValidationMode | null
  allowed_origins: string[]
  requests_per_minute: number | null
  environment: string
  expires_at: Date | null
  revoked_at: Date | null
}

/** An API key by its public id; undefined when it does not exist. @throws what the database throws */
export const readKey = async (pool: Pool, keyId: string): Promise<StoredKey | undefined> => {
  const { rows } = await pool.query<Row>({ name: 'api-key', text: SELECT, values: [keyId] })
  return rows[0] && toStoredKey(rows[0])
}

const toStoredKey = (row: Row): StoredKey => ({
  id: row.id,
  tenantId: row.tenant_id,
  projectId: row.project_id,
  kind: row.kind,
  scopes: row.scopes,
  secretHash: row.secret_hash,
  validationMode: row.validation_mode,
  allowedOrigins: row.allowed_origins,
  requestsPerMinute: row.requests_per_minute,
  environment: row.environment,
  expiresAt: row.expires_at?.getTime() ?? null,
  revokedAt: row.revoked_at?.getTime() ?? null,
})

type Use = { id: string; at: number }

const columns = bulkColumns<Use>([
  { name: 'id', type: 'uuid', of: ({ id }) => id },
  { name: 'used_at', type: 'timestamptz', of: ({ at }) => new Date(at).toISOString() },
])

// Skips locked keys instead of waiting for them while it holds others: a write by a key holds a lock on that key
// until it has changed another. Ends with the uses that were skipped.
const UPDATE = `
  WITH given AS (SELECT * FROM ${columns.unnest} AS given (${columns.names})),
  due AS (
    SELECT k.id, given.used_at FROM given JOIN core.api_keys k USING (id)
    WHERE k.last_used_at IS NULL OR k.last_used_at < given.used_at
  ),
  used AS (
    SELECT k.id, due.used_at FROM due JOIN core.api_keys k USING (id)
    WHERE k.last_used_at IS NULL OR k.last_used_at < due.used_at
    ORDER BY k.id FOR NO KEY UPDATE OF k SKIP LOCKED
  ),
  stored AS (UPDATE core.api_keys k SET last_used_at = used.used_at FROM used WHERE k.id = used.id)
  SELECT due.id FROM due WHERE NOT EXISTS (SELECT FROM used WHERE used.id = due.id)`

export type Queries = {
  query(statement: { name: string; text: string; values: unknown[] }): Promise<{ rows: unknown[] }>
}

/**
 * Stores the last use of keys, unless a later one is stored. `at` is in ms since the epoch. Resolves to the ids of keys
 * that were locked, whose use was not stored.
 */
export const storeUses = async (pool: Queries, uses: readonly Use[]): Promise<string[]> => {
  const { rows } = await pool.query({ name: 'key-usage', text: UPDATE, values: columns.values(uses) })
  return (rows as { id: string }[]).map(({ id }) => id)
}

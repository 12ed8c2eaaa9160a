import { type Cache, createReadThroughCache, readCopy } from '@waymark/cache'
import {
  type ApiKeyKind,
  type ApiKeyScope,
  apiKeyScopes,
  compileValidator,
  type Log,
  type ValidationMode,
} from '@waymark/contracts'
import { bulkColumns } from '@waymark/database'
import { parseApiKey, secretMatches } from '@waymark/domain'
import type { Pool } from 'pg'
import { type Static, Type } from 'typebox'
import type { ChangeNotices } from './config-changes.ts'

/** An API key as services see it, without its secret. */
export type ApiKey = {
  id: string
  projectId: string
  kind: ApiKeyKind
  scopes: readonly ApiKeyScope[]
  /** Overrides the project's validation mode, unless null. */
  validationMode: ValidationMode | null
  /** Origins from which browsers may use a `pub` key. Empty: all. */
  allowedOrigins: readonly string[]
  /** Requests per minute of this key. Null: the limits per project and client address apply. */
  requestsPerMinute: number | null
}

const NullableInteger = Type.Unsafe<number | null>({ type: ['integer', 'null'] })
/** A key as stored and cached. Times in ms since the epoch. */
const StoredKey = Type.Object({
  id: Type.String(),
  projectId: Type.String(),
  kind: Type.Enum(['pub', 'sec']),
  scopes: Type.Array(Type.Enum(apiKeyScopes)),
  validationMode: Type.Unsafe<ValidationMode | null>({ enum: ['off', 'warn', 'enforce', null] }),
  allowedOrigins: Type.Array(Type.String()),
  secretHash: Type.String(),
  requestsPerMinute: NullableInteger,
  expiresAt: NullableInteger,
  revokedAt: NullableInteger,
})
type StoredKey = Static<typeof StoredKey>
const storedKey = compileValidator(StoredKey)

const MAX_KEYS = 50_000
/** How long a valid key is used while the database does not answer, and how long its copy is kept, in ms. */
const MAX_STALE_MS = 5 * 60_000

// The version changes with the shape, because old and new processes share the cache during an upgrade.
const copyKey = (keyId: string) => `api-key:v3:${keyId}`

// The keys of an archived project count as revoked.
const SELECT = `
  SELECT k.id, k.project_id, k.kind, k.scopes, encode(k.secret_hash, 'base64') AS secret_hash, k.validation_mode,
    k.allowed_origins, k.requests_per_minute, k.expires_at, least(k.revoked_at, p.archived_at) AS revoked_at
  FROM core.api_keys k JOIN core.projects p ON p.id = k.project_id WHERE k.key_id = $1`

type Row = {
  id: string
  project_id: string
  kind: ApiKeyKind
  scopes: ApiKeyScope[]
  secret_hash: string
  validation_mode: ValidationMode | null
  allowed_origins: string[]
  requests_per_minute: number | null
  expires_at: Date | null
  revoked_at: Date | null
}

type ApiKeysDeps = {
  pool: Pool
  cache: Cache
  changes: ChangeNotices
  log: Log
  /** A monotonic clock in ms, for the age of cached keys. */
  now: () => number
  /** The time in ms since the epoch, for the expiry of keys. */
  clock: () => number
}

/** Authenticates API keys from memory, else from PostgreSQL, else from a copy in the shared cache. */
export const createApiKeys = ({ pool, cache, changes, log, now, clock }: ApiKeysDeps) => {
  const usage = createKeyUsage(pool)
  const keys = createReadThroughCache<StoredKey>({
    name: 'API keys',
    read: async (keyId) => {
      const { rows } = await pool.query<Row>({ name: 'api-key', text: SELECT, values: [keyId] })
      const [row] = rows
      if (!row) return null
      const key = toStoredKey(row)
      await cache.set(copyKey(keyId), JSON.stringify(key), MAX_STALE_MS)
      return { value: key }
    },
    readCopy: async (keyId) => {
      const value = await readCopy(cache, copyKey(keyId), storedKey)
      return value ? { value } : null
    },
    // While the database is known not to answer, no request waits for it.
    isCurrent: ({ projectId }, readAt) =>
      changes.isCurrent(projectId, readAt) || (!changes.isWatching() && now() - readAt < MAX_STALE_MS),
    maxStaleMs: MAX_STALE_MS,
    max: MAX_KEYS,
    now,
    log,
  })

  const find = async (text: string): Promise<ApiKey | undefined> => {
    const parts = parseApiKey(text)
    if (!parts) return undefined
    const key = (await keys.get(parts.keyId))?.value
    if (!key || key.kind !== parts.kind || key.revokedAt !== null) return undefined
    if (key.expiresAt !== null && key.expiresAt <= clock()) return undefined
    if (!secretMatches(parts.secret, Buffer.from(key.secretHash, 'base64'))) return undefined
    usage.note(key.id, clock())
    return key
  }

  return {
    /**
     * The key that a client sent, or `undefined` when it is malformed, unknown, revoked or expired. With
     * `configVersion`, the key and the configuration of its project are at least as new as that version.
     * @throws AppError store_unavailable when the key is not cached and no store answers
     */
    authenticate: async (text: string, configVersion?: string): Promise<ApiKey | undefined> => {
      const key = await find(text)
      if (!key || configVersion === undefined) return key
      await changes.catchUp(configVersion)
      return find(text)
    },
    /** Writes the last use of keys. Call it once a minute and before the process ends. */
    flushUsage: usage.flush,
  }
}

export type ApiKeys = Pick<ReturnType<typeof createApiKeys>, 'authenticate'>

const toStoredKey = (row: Row): StoredKey => ({
  id: row.id,
  projectId: row.project_id,
  kind: row.kind,
  scopes: row.scopes,
  secretHash: row.secret_hash,
  validationMode: row.validation_mode,
  allowedOrigins: row.allowed_origins,
  requestsPerMinute: row.requests_per_minute,
  expiresAt: row.expires_at?.getTime() ?? null,
  revokedAt: row.revoked_at?.getTime() ?? null,
})

type Queries = { query(statement: { name: string; text: string; values: unknown[] }): Promise<unknown> }
type Use = { id: string; at: number }

const columns = bulkColumns<Use>([
  { name: 'id', type: 'uuid', of: ({ id }) => id },
  { name: 'used_at', type: 'timestamptz', of: ({ at }) => new Date(at).toISOString() },
])

// Ordered by id, so that processes that update the same keys do not deadlock.
const UPDATE = `
  WITH used AS (
    SELECT k.id, given.used_at FROM ${columns.unnest} AS given (${columns.names})
    JOIN core.api_keys k USING (id) WHERE k.last_used_at IS NULL OR k.last_used_at < given.used_at
    ORDER BY k.id FOR UPDATE OF k
  )
  UPDATE core.api_keys k SET last_used_at = used.used_at FROM used WHERE k.id = used.id`

/** Records the last use of keys in memory until `flush` writes them in one statement. */
export const createKeyUsage = (pool: Queries) => {
  let used = new Map<string, number>()
  return {
    /** Records a use. `at` is in ms since the epoch. */
    note: (id: string, at: number): void => {
      used.set(id, at)
    },
    /** Writes what was recorded since the last flush. @throws when the database fails; the next flush writes it then */
    flush: async (): Promise<void> => {
      if (used.size === 0) return
      const flushing = used
      used = new Map()
      try {
        const uses = [...flushing].map(([id, at]) => ({ id, at }))
        await pool.query({ name: 'key-usage', text: UPDATE, values: columns.values(uses) })
      } catch (error) {
        used = new Map([...flushing, ...used])
        throw error
      }
    },
  }
}

import { type Cache, createReadThroughCache, readCopy } from '@waymark/cache'
import {
  type ApiKeyKind,
  type ApiKeyScope,
  apiKeyScopes,
  compileValidator,
  type Log,
  type ValidationMode,
} from '@waymark/contracts'
import { parseApiKey, secretMatches } from '@waymark/domain'
import type { Pool } from 'pg'
import { type Static, Type } from 'typebox'
import type { ChangeNotices } from './config-changes.ts'
import { createKeyUsage } from './key-usage.ts'

/** An API key as the services know it; the secret itself is kept nowhere. */
export type ApiKey = {
  id: string
  projectId: string
  kind: ApiKeyKind
  scopes: readonly ApiKeyScope[]
  /** Overrides the project's mode unless null. */
  validationMode: ValidationMode | null
  /** Origins that browsers may use a `pub` key from; empty allows all. */
  allowedOrigins: readonly string[]
  /** Requests per minute of this key, in place of the limits per project and client address; null follows those. */
  requestsPerMinute: number | null
}

const NullableInteger = Type.Unsafe<number | null>({ type: ['integer', 'null'] })
/** A key as stored: what may be shared through the cache. Times in ms since the epoch. */
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
/** How long a key that was valid is trusted while the database does not answer, and its copy is kept, in ms. */
const MAX_STALE_MS = 5 * 60_000

// The version changes with the shape, since old and new processes share the cache during a roll-out.
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

export type ApiKeysDeps = {
  pool: Pool
  cache: Cache
  changes: ChangeNotices
  log: Log
  /** In ms from anywhere, and never back: for how long ago something was read. */
  now: () => number
  /** In ms since the epoch: for when keys expire. */
  clock: () => number
}

/** Authenticates API keys: from memory, else from PostgreSQL, else from the copies in the shared cache. */
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
    isCurrent: ({ projectId }, readAt) => changes.isCurrent(projectId, readAt),
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
     * The key that a client sent, or `undefined` when it is malformed, unknown, revoked or expired. With a
     * `configVersion`, the key and its project's configuration are at least as new as that.
     * @throws AppError store_unavailable when no store can say whether an unknown key is valid
     */
    authenticate: async (text: string, configVersion?: string): Promise<ApiKey | undefined> => {
      const key = await find(text)
      if (!key || configVersion === undefined) return key
      await changes.catchUp(configVersion)
      return find(text)
    },
    /** Writes when keys were used last; to be called once a minute and at the end. */
    flushUsage: usage.flush,
  }
}

/** What routes need of them. */
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

import type { Cache } from '@waymark/cache'
import { type ApiKeyKind, type ApiKeyScope, AppError, type Log } from '@waymark/contracts'
import { parseApiKey, secretMatches } from '@waymark/domain'
import { LRUCache } from 'lru-cache'
import type { Pool } from 'pg'

/** An API key as the services know it; the secret itself is kept nowhere. */
export type ApiKey = {
  id: string
  projectId: string
  kind: ApiKeyKind
  scopes: readonly ApiKeyScope[]
}

/** A key as stored: what may be shared through the cache. */
type StoredKey = ApiKey & { secretHash: string; expiresAt: number | null; revokedAt: number | null }
/** What is known of a key id, `null` that there is no such key, and since when, in ms. */
type Known = { key: StoredKey | null; since: number }

// Together below 5 s, within which a revoked key must be refused everywhere.
const FRESH_IN_MEMORY_MS = 2_000
const FRESH_IN_CACHE_MS = 2_500
/** How long a key that was valid is trusted while no store can be asked, in ms. */
const STALE_IF_ERROR_MS = 5 * 60_000
const MAX_KEYS_IN_MEMORY = 50_000
const RETRY_AFTER_S = 5

// The version changes with the shape, since old and new processes share the cache during a roll-out.
const cacheKeyOf = (keyId: string) => `api-key:v1:${keyId}`

const SELECT = `
  SELECT id, project_id, kind, scopes, encode(secret_hash, 'base64') AS secret_hash, expires_at, revoked_at
  FROM core.api_keys WHERE key_id = $1`

type Row = {
  id: string
  project_id: string
  kind: ApiKeyKind
  scopes: ApiKeyScope[]
  secret_hash: string
  expires_at: Date | null
  revoked_at: Date | null
}

export type ApiKeysDeps = { pool: Pool; cache: Cache; log: Log; now: () => number }

/** Recognises API keys: from memory, else the shared cache, else Postgres. */
export const createApiKeys = ({ pool, cache, log, now }: ApiKeysDeps) => {
  const memory = new LRUCache<string, Known>({ max: MAX_KEYS_IN_MEMORY })
  const loading = new Map<string, Promise<StoredKey | null>>()

  const readFromDatabase = async (keyId: string): Promise<StoredKey | null> => {
    const { rows } = await pool.query<Row>({ name: 'api-key', text: SELECT, values: [keyId] })
    const [row] = rows
    return row ? toStoredKey(row) : null
  }

  const load = async (keyId: string): Promise<StoredKey | null> => {
    const cached = await cache.get(cacheKeyOf(keyId))
    if (cached !== undefined) return JSON.parse(cached) as StoredKey
    const key = await readFromDatabase(keyId)
    // Unknown ids are cached in this process only: anybody can invent millions of them.
    if (key) await cache.set(cacheKeyOf(keyId), JSON.stringify(key), FRESH_IN_CACHE_MS)
    return key
  }

  const loadOnce = (keyId: string): Promise<StoredKey | null> => {
    const underWay = loading.get(keyId)
    if (underWay !== undefined) return underWay
    const fresh = load(keyId).finally(() => loading.delete(keyId))
    loading.set(keyId, fresh)
    return fresh
  }

  const lookUp = async (keyId: string): Promise<StoredKey | null> => {
    const known = memory.get(keyId)
    if (known && now() - known.since < FRESH_IN_MEMORY_MS) return known.key
    const since = now()
    try {
      const key = await loadOnce(keyId)
      memory.set(keyId, { key, since })
      return key
    } catch (error) {
      if (known?.key && now() - known.since < STALE_IF_ERROR_MS) {
        log.warn({ err: error }, 'no store can be asked about an API key; what is remembered counts')
        return known.key
      }
      throw new AppError(
        'store_unavailable',
        'STORE_UNAVAILABLE',
        { retryAfter: RETRY_AFTER_S },
        { cause: error },
      )
    }
  }

  return {
    /**
     * The key that a client sent, or `undefined` when it is malformed, unknown, revoked or expired.
     * @throws AppError store_unavailable when no store can say whether an unknown key is valid
     */
    authenticate: async (text: string): Promise<ApiKey | undefined> => {
      const parts = parseApiKey(text)
      if (!parts) return undefined
      const key = await lookUp(parts.keyId)
      if (!key || key.kind !== parts.kind || key.revokedAt !== null) return undefined
      if (key.expiresAt !== null && key.expiresAt <= now()) return undefined
      return secretMatches(parts.secret, Buffer.from(key.secretHash, 'base64')) ? key : undefined
    },
  }
}

export type ApiKeys = ReturnType<typeof createApiKeys>

const toStoredKey = (row: Row): StoredKey => ({
  id: row.id,
  projectId: row.project_id,
  kind: row.kind,
  scopes: row.scopes,
  secretHash: row.secret_hash,
  expiresAt: row.expires_at?.getTime() ?? null,
  revokedAt: row.revoked_at?.getTime() ?? null,
})

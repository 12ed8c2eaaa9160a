import { type Cache, createReadThroughCache, readCopy } from '@waymark/cache'
import type { ApiKeyKind, ApiKeyScope } from '@waymark/contracts/api-key'
import type { Log } from '@waymark/contracts/log'
import type { ValidationMode } from '@waymark/contracts/project-settings'
import { parseApiKey, secretMatches } from '@waymark/domain/key'
import type { Pool } from 'pg'
import { type Queries, readKey, type StoredKey, storedKey, storeUses } from './api-key-queries.ts'
import type { ChangeNotices } from './config-changes.ts'

/** An API key as services see it, without its secret. */
export type ApiKey = {
  id: string
  tenantId: string
  projectId: string
  kind: ApiKeyKind
  scopes: readonly ApiKeyScope[]
  /** Overrides the project's validation mode, unless null. */
  validationMode: ValidationMode | null
  /** Origins from which browsers may use a `pub` key. Empty: all. */
  allowedOrigins: readonly string[]
  /** Requests per minute of this key. Null: the limits per project and client address apply. */
  requestsPerMinute: number | null
  /** The environment whose rules it gets from decisions. */
  environment: string
}

const MAX_KEYS = 50_000
/** How long a valid key is used while the database does not answer, and how long its copy is kept, in ms. */
const MAX_STALE_MS = 5 * 60_000

// The version changes with the shape, because old and new processes share the cache during an upgrade.
const copyKey = (keyId: string) => `api-key:v5:${keyId}`

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
      const key = await readKey(pool, keyId)
      if (!key) return null
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

/** Records the last use of keys in memory until `flush` writes them in one statement. */
export const createKeyUsage = (pool: Queries) => {
  let used = new Map<string, number>()
  return {
    /** Records a use. `at` is in ms since the epoch. */
    note: (id: string, at: number): void => {
      used.set(id, at)
    },
    /**
     * Writes what was recorded since the last flush. The next flush writes the uses of keys that are locked now, and all
     * when the database fails.
     */
    flush: async (): Promise<void> => {
      if (used.size === 0) return
      const flushing = used
      used = new Map()
      const keep = (uses: Iterable<[string, number]>): void => {
        used = new Map([...uses, ...used])
      }
      try {
        const locked = await storeUses(
          pool,
          [...flushing].map(([id, at]) => ({ id, at })),
        )
        keep(locked.map((id) => [id, flushing.get(id) as number]))
      } catch (error) {
        keep(flushing)
        throw error
      }
    },
  }
}

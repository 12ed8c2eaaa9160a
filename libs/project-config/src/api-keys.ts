import { type Cache, readCopy } from '@waymark/cache'
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
import { createRemembered } from './remembered.ts'

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
}

const NullableTime = Type.Unsafe<number | null>({ type: ['integer', 'null'] })
/** A key as stored: what may be shared through the cache. Times in ms since the epoch. */
const StoredKey = Type.Object({
  id: Type.String(),
  projectId: Type.String(),
  kind: Type.Enum(['pub', 'sec']),
  scopes: Type.Array(Type.Enum(apiKeyScopes)),
  validationMode: Type.Unsafe<ValidationMode | null>({ enum: ['off', 'warn', 'enforce', null] }),
  allowedOrigins: Type.Array(Type.String()),
  secretHash: Type.String(),
  expiresAt: NullableTime,
  revokedAt: NullableTime,
})
type StoredKey = Static<typeof StoredKey>
const storedKey = compileValidator(StoredKey)

const MAX_KEYS = 50_000
const COPY_MS = 5 * 60_000

// The version changes with the shape, since old and new processes share the cache during a roll-out.
const copyKey = (keyId: string) => `api-key:v2:${keyId}`

// The keys of an archived project count as revoked.
const SELECT = `
  SELECT k.id, k.project_id, k.kind, k.scopes, encode(k.secret_hash, 'base64') AS secret_hash, k.validation_mode,
    k.allowed_origins, k.expires_at, least(k.revoked_at, p.archived_at) AS revoked_at
  FROM core.api_keys k JOIN core.projects p ON p.id = k.project_id WHERE k.key_id = $1`

type Row = {
  id: string
  project_id: string
  kind: ApiKeyKind
  scopes: ApiKeyScope[]
  secret_hash: string
  validation_mode: ValidationMode | null
  allowed_origins: string[]
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

/** Recognises API keys: from memory, else Postgres; while that is away from the copies that the cache holds. */
export const createApiKeys = ({ pool, cache, changes, log, now, clock }: ApiKeysDeps) => {
  const usage = createKeyUsage(pool)
  const keys = createRemembered<StoredKey>({
    read: async (keyId) => {
      const { rows } = await pool.query<Row>({ name: 'api-key', text: SELECT, values: [keyId] })
      const [row] = rows
      if (!row) return null
      const key = toStoredKey(row)
      await cache.set(copyKey(keyId), JSON.stringify(key), COPY_MS)
      return key
    },
    readCopy: async (keyId) => (await readCopy(cache, copyKey(keyId), storedKey)) ?? null,
    isCurrent: ({ projectId }, readAt) => changes.isCurrent(projectId, readAt),
    max: MAX_KEYS,
    now,
    log,
  })

  return {
    /**
     * The key that a client sent, or `undefined` when it is malformed, unknown, revoked or expired.
     * @throws AppError store_unavailable when no store can say whether an unknown key is valid
     */
    authenticate: async (text: string): Promise<ApiKey | undefined> => {
      const parts = parseApiKey(text)
      if (!parts) return undefined
      const key = await keys.get(parts.keyId)
      if (!key || key.kind !== parts.kind || key.revokedAt !== null) return undefined
      if (key.expiresAt !== null && key.expiresAt <= clock()) return undefined
      if (!secretMatches(parts.secret, Buffer.from(key.secretHash, 'base64'))) return undefined
      usage.note(key.id, clock())
      return key
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
  expiresAt: row.expires_at?.getTime() ?? null,
  revokedAt: row.revoked_at?.getTime() ?? null,
})

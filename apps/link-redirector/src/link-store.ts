import { type Cache, readCopy } from '@waymark/cache'
import { compileValidator, type LinkStatus, LinkTarget, type LinkUtm } from '@waymark/contracts'
import { checkDestination } from '@waymark/domain'
import { linkCopyKey } from '@waymark/pipeline'
import type { ChangesQuery } from '@waymark/project-config'
import DataLoader from 'dataloader'
import type { Pool } from 'pg'
import { type Static, Type } from 'typebox'

const NullableInteger = Type.Unsafe<number | null>({ type: ['integer', 'null'] })

/** A stored link, with what a redirect needs. Times in ms since the epoch. */
const StoredLink = Type.Object({
  id: Type.String(),
  projectId: Type.String(),
  code: Type.String(),
  destination: Type.String(),
  status: Type.Unsafe<LinkStatus>({ enum: ['active', 'paused', 'archived'] }),
  startsAt: NullableInteger,
  expiresAt: NullableInteger,
  clickLimit: NullableInteger,
  /** Clicks that were stored when it was read. */
  clicks: Type.Integer(),
  utm: Type.Unsafe<LinkUtm>({ type: 'object', additionalProperties: { type: 'string' } }),
  forwardQuery: Type.Boolean(),
  targets: Type.Array(LinkTarget),
})
export type StoredLink = Static<typeof StoredLink>

type Row = {
  id: string
  project_id: string
  code: string
  destination: string
  status: LinkStatus
  starts_at: Date | null
  expires_at: Date | null
  click_limit: number | null
  clicks: string
  utm: LinkUtm
  forward_query: boolean
  targets: LinkTarget[]
  /** By the database's clock. */
  read_at: Date
}

const COPY_MS = 60 * 60_000
/** Maximum difference between the clocks of the database and of this process, in ms. */
const CLOCK_SKEW_MS = 5_000
/** Links per statement. */
const MAX_BATCH = 500

const SELECT = `
  SELECT l.id, l.project_id, l.code, l.destination, l.status, l.starts_at, l.expires_at, l.click_limit, l.utm,
    l.forward_query, l.targets, coalesce(c.clicks, 0) AS clicks, now() AS read_at
  FROM link.links l JOIN core.projects p ON p.id = l.project_id AND p.archived_at IS NULL
  LEFT JOIN link.counts c ON c.link_id = l.id
  WHERE l.code = ANY($1::text[])`

/** Finds links that were changed after their creation. */
export const linkChanges: ChangesQuery = {
  name: 'link-changes',
  text: `
    SELECT code || ' ' || updated_at AS change_id, code AS subject FROM link.links
    WHERE updated_at > created_at AND updated_at > now() - $1 * interval '1 millisecond'`,
}

/** A copy of a link in the shared cache. `readAt`: ms since the epoch, by the database's clock. */
const LinkCopy = Type.Object({ readAt: Type.Number(), link: StoredLink })
export type LinkCopy = Static<typeof LinkCopy>
const linkCopy = compileValidator(LinkCopy)

/** A copied link and its maximum age in ms, which is infinite when the clocks contradict each other. */
export type CopiedLink = { link: StoredLink; ageMs: number }

type LinkStoreDeps = {
  pool: Pool
  cache: Cache
  /** In ms since the epoch; may differ from the database's clock by seconds. */
  clock: () => number
}

/**
 * Reads links from the database, concurrent requests by one statement, and their copies from the shared cache.
 */
export const createLinkStore = ({ pool, cache, clock }: LinkStoreDeps) => {
  const readBatch = async (codes: readonly string[]): Promise<(StoredLink | null)[]> => {
    const { rows } = await pool.query<Row>({ name: 'read-link', text: SELECT, values: [codes] })
    const found = new Map(rows.map((row) => [row.code, row]))
    return codes.map((code) => {
      const row = found.get(code)
      if (!row) return null
      const link = toStoredLink(row)
      // By the database's clock, because the copy is shared and this process's clock may be wrong.
      const copy: LinkCopy = { readAt: row.read_at.getTime(), link }
      void cache.set(linkCopyKey(code), JSON.stringify(copy), COPY_MS)
      return link
    })
  }
  const loader = new DataLoader<string, StoredLink | null>(readBatch, {
    cache: false,
    maxBatchSize: MAX_BATCH,
    batchScheduleFn: setImmediate,
  })

  return {
    /** The link with a code, or `null`. Stores a copy. @throws when the database is unavailable */
    read: (code: string): Promise<StoredLink | null> => loader.load(code),
    /** The shared copy of a link, up to an hour old. */
    readCopy: async (code: string): Promise<CopiedLink | undefined> => {
      const copy = await readCopy(cache, linkCopyKey(code), linkCopy)
      if (copy?.link.code !== code || !hasValidDestinations(copy.link)) return undefined
      const ageMs = clock() - copy.readAt + CLOCK_SKEW_MS
      return { link: copy.link, ageMs: ageMs < 0 ? Number.POSITIVE_INFINITY : ageMs }
    },
  }
}

const hasValidDestinations = ({ destination, targets }: StoredLink): boolean =>
  [destination, ...targets.map((target) => target.destination)].every((url) => 'url' in checkDestination(url))

export type LinkStore = ReturnType<typeof createLinkStore>

const toStoredLink = (row: Row): StoredLink => ({
  id: row.id,
  projectId: row.project_id,
  code: row.code,
  destination: row.destination,
  status: row.status,
  startsAt: row.starts_at?.getTime() ?? null,
  expiresAt: row.expires_at?.getTime() ?? null,
  clickLimit: row.click_limit,
  clicks: Number(row.clicks),
  utm: row.utm,
  forwardQuery: row.forward_query,
  targets: row.targets,
})

import type { EventLink, IngestRecord } from '@waymark/contracts'
import { bulkColumns } from '@waymark/database'
import { type LinkReference, linkClaimOf } from '@waymark/domain'
import { LRUCache } from 'lru-cache'
import type { Pool } from 'pg'

/**
 * Where the shared cache holds the copy of a link that redirectors read. The version changes with its shape, since old
 * and new processes share the cache during a roll-out.
 */
export const linkCopyKey = (code: string): string => `link:v1:${code}`

/** A link as an event of a project refers to it. */
type WantedLink = LinkReference & { projectId: string }
type FoundLink = { id: string; code: string; campaign: string | null }
type Row = FoundLink & { project_id: string; by: LinkReference['by']; value: string }

const columns = bulkColumns<WantedLink>([
  { name: 'project_id', type: 'uuid', of: ({ projectId }) => projectId },
  { name: 'by', type: 'text', of: ({ by }) => by },
  { name: 'value', type: 'text', of: ({ value }) => value },
])

// A branch for each kind of reference, so that each is found by its own index.
const FIND = `
  WITH wanted AS (SELECT * FROM ${columns.unnest} AS given (${columns.names}))
  SELECT w.*, l.id, l.code, l.campaign FROM wanted w
    JOIN link.links l ON l.project_id = w.project_id AND right(l.id::text, 12) = w.value WHERE w.by = 'tag'
  UNION ALL
  SELECT w.*, l.id, l.code, l.campaign FROM wanted w
    JOIN link.links l ON l.project_id = w.project_id AND l.id = CASE w.by WHEN 'id' THEN w.value::uuid END
  UNION ALL
  SELECT w.*, l.id, l.code, l.campaign FROM wanted w
    JOIN link.links l ON l.project_id = w.project_id AND l.code = w.value WHERE w.by = 'code'`

/** The links that are referred to, each with its reference; unknown ones are left out. */
const findLinks = async (
  pool: Pool,
  wanted: readonly WantedLink[],
): Promise<(WantedLink & { link: FoundLink })[]> => {
  const { rows } = await pool.query<Row>({
    name: 'resolve-links',
    text: FIND,
    values: columns.values(wanted),
  })
  return rows.map(({ project_id: projectId, by, value, id, code, campaign }) => ({
    projectId,
    by,
    value,
    link: { id, code, campaign },
  }))
}

/** Looks up which links led to events, in their order; `null` where none of the event's own project did. */
export type ResolveLinks = (records: readonly IngestRecord[]) => Promise<(EventLink | null)[]>

const MAX_REMEMBERED = 50_000
/** A link's id and code never change, its campaign may. In ms. */
const FOUND_MS = 30_000
const UNKNOWN_MS = 2_000

/**
 * Makes the look-up of links for enrichment: one statement for a whole batch, and none for links that were seen within
 * the last 30 seconds. It never looks at clicks, which may be stored later than the events that follow from them.
 */
export const createResolveLinks = ({
  pool,
  now = Date.now,
}: {
  pool: Pool
  now?: () => number
}): ResolveLinks => {
  const remembered = new LRUCache<string, { link: FoundLink | null; until: number }>({ max: MAX_REMEMBERED })

  const lookUp = async (wanted: ReadonlyMap<string, WantedLink>): Promise<Map<string, FoundLink | null>> => {
    const time = now()
    const known = new Map<string, FoundLink | null>()
    const missing = new Map<string, WantedLink>()
    for (const [key, reference] of wanted) {
      const entry = remembered.get(key)
      if (entry && entry.until > time) known.set(key, entry.link)
      else missing.set(key, reference)
    }
    if (missing.size === 0) return known
    const rows = await findLinks(pool, [...missing.values()])
    const found = new Map(rows.map(({ link, ...reference }) => [keyOf(reference), link]))
    for (const key of missing.keys()) {
      const link = found.get(key) ?? null
      remembered.set(key, { link, until: time + (link ? FOUND_MS : UNKNOWN_MS) })
      known.set(key, link)
    }
    return known
  }

  return async (records) => {
    const claims = records.map(({ event }) => linkClaimOf(event))
    const wanted = new Map<string, WantedLink>()
    claims.forEach((claim, index) => {
      const projectId = records[index]?.projectId ?? ''
      for (const reference of claim?.references ?? []) {
        const one = { ...reference, projectId }
        wanted.set(keyOf(one), one)
      }
    })
    if (wanted.size === 0) return claims.map(() => null)
    const links = await lookUp(wanted)
    return claims.map((claim, index) => {
      const projectId = records[index]?.projectId ?? ''
      for (const reference of claim?.references ?? []) {
        const link = links.get(keyOf({ ...reference, projectId }))
        // Only the click's own link makes the click believable.
        if (link) return { ...link, clickId: reference.by === 'tag' ? (claim?.clickId ?? null) : null }
      }
      return null
    })
  }
}

const keyOf = ({ projectId, by, value }: WantedLink): string => `${projectId}/${by}/${value}`

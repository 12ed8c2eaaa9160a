import type { EventLink } from '@waymark/contracts/records/enriched-event'
import type { IngestRecord } from '@waymark/contracts/records/ingest-record'
import { bulkColumns } from '@waymark/database'
import { clickTimeOf, type LinkReference, linkClaimOf, variantNumberOf } from '@waymark/domain/link'
import { LRUCache } from 'lru-cache'
import type { Pool } from 'pg'

/** Identifies a link by its code; codes are unique per domain. `domainId` is null for the domain of the installation. */
export const linkKeyOf = ({ domainId, code }: { domainId: string | null; code: string }): string =>
  domainId === null ? code : `${domainId}/${code}`

/**
 * The cache key of a link for redirectors, from the key of the link. The version changes with the shape of the value,
 * because old and new processes share the cache during an upgrade.
 */
export const linkCopyKey = (linkKey: string): string => `link:v3:${linkKey}`

/** A reference to a link in an event. */
type WantedLink = LinkReference & { projectId: string }
type FoundLink = {
  id: string
  code: string
  campaign: string | null
  /** All keys that its variants have had, in the order of their numbers. */
  variantKeys: readonly string[]
  /** When it got its first variant, in ms since the epoch. Null: when it was created. */
  variantsSince: number | null
}
type Row = {
  project_id: string
  by: LinkReference['by']
  value: string
  id: string
  code: string
  campaign: string | null
  variant_keys: string[]
  variants_since: Date | null
}

const columns = bulkColumns<WantedLink>([
  { name: 'project_id', type: 'uuid', of: ({ projectId }) => projectId },
  { name: 'by', type: 'text', of: ({ by }) => by },
  { name: 'value', type: 'text', of: ({ value }) => value },
])

// One branch for each kind of reference, so that each uses its own index.
const FIND = `
  WITH wanted AS (SELECT * FROM ${columns.unnest} AS given (${columns.names}))
  SELECT w.*, l.id, l.code, l.campaign, l.variant_keys, l.variants_since FROM wanted w
    JOIN link.links l ON l.project_id = w.project_id AND right(l.id::text, 12) = w.value WHERE w.by = 'tag'
  UNION ALL
  SELECT w.*, l.id, l.code, l.campaign, l.variant_keys, l.variants_since FROM wanted w
    JOIN link.links l ON l.project_id = w.project_id AND l.id = CASE w.by WHEN 'id' THEN w.value::uuid END
  UNION ALL
  (
    -- The code may exist on several domains: that of the installation is preferred, and then the oldest link.
    SELECT DISTINCT ON (w.project_id, w.value) w.*, l.id, l.code, l.campaign, l.variant_keys, l.variants_since FROM wanted w
    JOIN link.links l ON l.project_id = w.project_id AND l.code = w.value WHERE w.by = 'code'
    ORDER BY w.project_id, w.value, l.domain_id IS NOT NULL, l.id
  )`

/** The links of references. Unknown ones are left out. */
const findLinks = async (
  pool: Pool,
  wanted: readonly WantedLink[],
): Promise<(WantedLink & { link: FoundLink })[]> => {
  const { rows } = await pool.query<Row>({
    name: 'resolve-links',
    text: FIND,
    values: columns.values(wanted),
  })
  return rows.map(({ project_id: projectId, by, value, id, code, campaign, ...row }) => {
    const variantsSince = row.variants_since?.getTime() ?? null
    return {
      projectId,
      by,
      value,
      link: { id, code, campaign, variantKeys: row.variant_keys, variantsSince },
    }
  })
}

/** Finds the link of each event, `null` if it has none in its project. */
type ResolveLinks = (records: readonly IngestRecord[]) => Promise<(EventLink | null)[]>

const MAX_CACHED = 50_000
/** How long a found link is cached, in ms. Its id and code never change, but its campaign and variants may. */
const FOUND_MS = 30_000
const UNKNOWN_MS = 2_000

/**
 * The lookup of links for enrichment: at most one statement for a batch, with a cache of 30 s. It does not read clicks,
 * which may be stored later than the events after them.
 */
export const createResolveLinks = ({
  pool,
  now = Date.now,
}: {
  pool: Pool
  now?: () => number
}): ResolveLinks => {
  const cache = new LRUCache<string, { link: FoundLink | null; until: number }>({ max: MAX_CACHED })

  const lookUp = async (wanted: ReadonlyMap<string, WantedLink>): Promise<Map<string, FoundLink | null>> => {
    const time = now()
    const known = new Map<string, FoundLink | null>()
    const missing = new Map<string, WantedLink>()
    for (const [key, reference] of wanted) {
      const entry = cache.get(key)
      if (entry && entry.until > time) known.set(key, entry.link)
      else missing.set(key, reference)
    }
    if (missing.size === 0) return known
    const rows = await findLinks(pool, [...missing.values()])
    const found = new Map(rows.map(({ link, ...reference }) => [keyOf(reference), link]))
    for (const key of missing.keys()) {
      const link = found.get(key) ?? null
      cache.set(key, { link, until: time + (link ? FOUND_MS : UNKNOWN_MS) })
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
        // The click id is valid only with the link that it was made for.
        if (link) return eventLinkOf(link, reference.by === 'tag' ? (claim?.clickId ?? null) : null)
      }
      return null
    })
  }
}

const eventLinkOf = (link: FoundLink, clickId: string | null): EventLink => {
  const { id, code, campaign } = link
  const variant = clickId === null ? undefined : variantOf(link, clickId)
  return { id, code, campaign, clickId, ...(variant !== undefined && { variant }) }
}

/** The key of the variant in the id of a click. Ids of clicks before the first variant have random bits there. */
const variantOf = ({ variantKeys, variantsSince }: FoundLink, clickId: string): string | undefined =>
  variantKeys.length === 0 || clickTimeOf(clickId) < (variantsSince ?? 0)
    ? undefined
    : variantKeys[variantNumberOf(clickId) - 1]

const keyOf = ({ projectId, by, value }: WantedLink): string => `${projectId}/${by}/${value}`

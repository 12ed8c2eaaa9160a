import type {
  LinkCard,
  LinkQuery,
  LinkStatus,
  LinkTarget,
  LinkUtm,
  LinkVariant,
} from '@waymark/contracts/http/links'
import { type BulkColumn, bulkColumns } from '@waymark/database'
import type { ClientBase, Pool } from 'pg'
import type { LinkValues } from './link-values.ts'

/** A link with its counts. */
export type LinkRow = {
  id: string
  code: string
  domain_id: string | null
  /** The host of the link domain. */
  domain: string | null
  destination: string
  status: LinkStatus
  starts_at: Date | null
  expires_at: Date | null
  click_limit: number | null
  expired_url: string | null
  campaign: string | null
  tags: string[]
  utm: LinkUtm
  forward_query: boolean
  external_id: string | null
  targets: LinkTarget[]
  has_password: boolean
  og: LinkCard | null
  variants: LinkVariant[]
  /** All keys that its variants have had. */
  variant_keys: string[]
  created_at: Date
  updated_at: Date
  clicks: string
  bot_clicks: string
  unique_visitors: string
  last_clicked_at: Date | null
}

/** Selects the rows of a table or subquery of links, as `LinkRow`. */
const selectFrom = (links: string): string => `
  SELECT
  l.id, l.code, l.domain_id, d.host AS domain, l.destination, l.status, l.starts_at, l.expires_at, l.click_limit,
  l.expired_url, l.campaign, l.tags, l.utm,
  l.forward_query, l.external_id, l.targets, l.password_hash IS NOT NULL AS has_password, l.og, l.variants,
  l.variant_keys, l.created_at, l.updated_at,
  coalesce(c.clicks, 0) AS clicks, coalesce(c.bot_clicks, 0) AS bot_clicks,
  coalesce(c.unique_visitors, 0) AS unique_visitors, c.last_clicked_at
  FROM ${links} l LEFT JOIN link.counts c ON c.link_id = l.id LEFT JOIN link.domains d ON d.id = l.domain_id`
const SELECT = selectFrom('link.links')

type Queries = Pick<ClientBase, 'query'>

/** A link of a project; undefined when it does not exist. */
export const findLink = async (pool: Pool, projectId: string, id: string): Promise<LinkRow | undefined> => {
  const { rows } = await pool.query<LinkRow>({
    name: 'find-link',
    text: `${SELECT} WHERE l.id = $1 AND l.project_id = $2`,
    values: [id, projectId],
  })
  return rows[0]
}

/** A link to insert. */
export type NewLinkRow = {
  id: string
  code: string
  domainId: string | null
  passwordHash: string | null
  values: LinkValues
}
type InsertedLink = NewLinkRow & { projectId: string }

const valueColumns: BulkColumn<{ values: LinkValues }>[] = [
  { name: 'destination', type: 'text', of: ({ values }) => values.destination },
  { name: 'starts_at', type: 'timestamptz', of: ({ values }) => values.startsAt },
  { name: 'expires_at', type: 'timestamptz', of: ({ values }) => values.expiresAt },
  { name: 'click_limit', type: 'int', of: ({ values }) => values.clickLimit },
  { name: 'expired_url', type: 'text', of: ({ values }) => values.expiredUrl },
  { name: 'campaign', type: 'text', of: ({ values }) => values.campaign },
  { name: 'utm', type: 'jsonb', of: ({ values }) => JSON.stringify(values.utm) },
  { name: 'forward_query', type: 'boolean', of: ({ values }) => values.forwardQuery },
  { name: 'external_id', type: 'text', of: ({ values }) => values.externalId },
  { name: 'targets', type: 'jsonb', of: ({ values }) => JSON.stringify(values.targets) },
  { name: 'og', type: 'jsonb', of: ({ values }) => values.og && JSON.stringify(values.og) },
  { name: 'variants', type: 'jsonb', of: ({ values }) => JSON.stringify(values.variants) },
]

// PostgreSQL would flatten an array of arrays.
const tagsColumn: BulkColumn<{ values: LinkValues }> = {
  name: 'tags',
  type: 'jsonb',
  of: ({ values }) => JSON.stringify(values.tags),
}
const GIVEN_TAGS = 'ARRAY(SELECT jsonb_array_elements_text(given.tags))'

const insertedColumns: BulkColumn<InsertedLink>[] = [
  { name: 'id', type: 'uuid', of: ({ id }) => id },
  { name: 'project_id', type: 'uuid', of: ({ projectId }) => projectId },
  { name: 'code', type: 'text', of: ({ code }) => code },
  { name: 'domain_id', type: 'uuid', of: ({ domainId }) => domainId },
  ...valueColumns,
  {
    name: 'variant_keys',
    type: 'jsonb',
    of: ({ values }) => JSON.stringify(values.variants.map(({ key }) => key)),
  },
  { name: 'password_hash', type: 'text', of: ({ passwordHash }) => passwordHash },
]
const columns = bulkColumns(insertedColumns)
const given = bulkColumns<InsertedLink>([...insertedColumns, tagsColumn])

// Ordered by code, so that concurrent requests do not deadlock.
const INSERT = `
  WITH created AS (
    INSERT INTO link.links (${columns.names}, tags)
    SELECT ${columns.names}, ${GIVEN_TAGS}
    FROM ${given.unnest} AS given (${given.names}) ORDER BY code, domain_id
    ON CONFLICT DO NOTHING RETURNING *
  )
  ${selectFrom('created')}`

/** Inserts links, without those whose code or external id is taken. Resolves to the new ones. */
export const insertLinks = async (
  client: Queries,
  projectId: string,
  links: readonly NewLinkRow[],
): Promise<LinkRow[]> => {
  const { rows } = await client.query<LinkRow>({
    name: 'create-links',
    text: INSERT,
    values: given.values(links.map((link) => ({ ...link, projectId }))),
  })
  return rows
}

/** The links of a project by external id. */
export const findByExternalId = async (
  client: Queries,
  projectId: string,
  externalIds: readonly string[],
): Promise<Map<string, LinkRow>> => {
  if (externalIds.length === 0) return new Map()
  const { rows } = await client.query<LinkRow>({
    name: 'find-links-by-external-id',
    text: `${SELECT} WHERE l.project_id = $1 AND l.external_id = ANY($2::text[])`,
    values: [projectId, externalIds],
  })
  return new Map(rows.map((row) => [row.external_id ?? '', row]))
}

const COUNT = `
  INSERT INTO link.project_counts AS c (project_id, links) VALUES ($1, $2)
  ON CONFLICT (project_id) DO UPDATE SET links = c.links + excluded.links RETURNING links`

/** Adds to the number of links of a project, and resolves to the sum. */
export const addToLinkCount = async (client: Queries, projectId: string, added: number): Promise<number> => {
  const { rows } = await client.query<{ links: string }>({
    name: 'count-links',
    text: COUNT,
    values: [projectId, added],
  })
  return Number(rows[0]?.links)
}

/** Reads a link and locks it until the transaction ends. */
export const lockLink = async (
  client: Queries,
  projectId: string,
  id: string,
): Promise<LinkRow | undefined> => {
  const { rows } = await client.query<LinkRow>(
    `${SELECT} WHERE l.id = $1 AND l.project_id = $2 FOR UPDATE OF l`,
    [id, projectId],
  )
  return rows[0]
}

/** A link to store. Without `passwordHash`, the password stays; null removes it. */
type StoredLink = {
  id: string
  status: LinkStatus
  passwordHash: string | null | undefined
  variantKeys: readonly string[]
  values: LinkValues
}

const changed = bulkColumns<StoredLink>([
  { name: 'id', type: 'uuid', of: ({ id }) => id },
  { name: 'status', type: 'text', of: ({ status }) => status },
  ...valueColumns,
  tagsColumn,
  { name: 'variant_keys', type: 'jsonb', of: ({ variantKeys }) => JSON.stringify(variantKeys) },
  { name: 'sets_password', type: 'boolean', of: ({ passwordHash }) => passwordHash !== undefined },
  { name: 'password_hash', type: 'text', of: ({ passwordHash }) => passwordHash ?? null },
])
const GIVEN_VALUES = ['status', 'variant_keys', ...valueColumns.map(({ name }) => name)]

// Redirectors find changed links by updated_at, so it is the database's time and later than created_at.
const UPDATE = `
  WITH changed AS (
    UPDATE link.links SET ${GIVEN_VALUES.map((name) => `${name} = given.${name}`).join(', ')},
      tags = ${GIVEN_TAGS},
      password_hash = CASE WHEN given.sets_password THEN given.password_hash ELSE links.password_hash END,
      variants_since = CASE
        WHEN links.variant_keys = '[]' AND given.variant_keys <> '[]' THEN clock_timestamp() ELSE variants_since
      END,
      updated_at = greatest(clock_timestamp(), created_at + interval '1 millisecond')
    FROM ${changed.unnest} AS given (${changed.names}) WHERE links.id = given.id RETURNING links.*
  )
  ${selectFrom('changed')}`

/** Stores the values of a link that is locked. @throws what the database throws for an external id that is taken */
export const storeLink = async (client: Queries, link: StoredLink): Promise<LinkRow> => {
  const { rows } = await client.query<LinkRow>(UPDATE, changed.values([link]))
  const [row] = rows
  if (!row) throw new Error('The locked link does not exist')
  return row
}

type LinkFilter = Pick<LinkQuery, 'q' | 'tag' | 'campaign' | 'status' | 'domainId'>

/** The searched columns. Must equal the expression of their index. */
const WORDS = `array_to_tsvector(link.search_words(l.code, l.destination, l.campaign, l.external_id))`
// The same as in link.search_words.
const SEPARATORS = /[^a-z0-9\u0080-\u{10ffff}]+/u
const MAX_WORDS = 10

/**
 * Reads links of a project, newest first. Every filter has an index. The planner walks the newest links for a frequent
 * word, and sorts the matches of a rare one.
 */
export const listLinks = async (
  pool: Pool,
  projectId: string,
  { q, tag, campaign, status, domainId }: LinkFilter,
  { before, take }: { before: string | undefined; take: number },
): Promise<LinkRow[]> => {
  const values: unknown[] = [projectId]
  const conditions = ['l.project_id = $1']
  const add = (condition: (parameter: string) => string, value: unknown): void => {
    values.push(value)
    conditions.push(condition(`$${values.length}`))
  }
  if (before !== undefined) add((id) => `l.id < ${id}::uuid`, before)
  if (status === undefined) conditions.push(`l.status IN ('active', 'paused')`)
  else add((wanted) => `l.status = ${wanted}`, status)
  if (campaign !== undefined) add((wanted) => `l.campaign = ${wanted}`, campaign)
  if (domainId !== undefined) add((wanted) => `l.domain_id = ${wanted}::uuid`, domainId)
  if (tag !== undefined) add((wanted) => `l.tags @> ARRAY[${wanted}::text]`, tag)
  if (q !== undefined) add((query) => `${WORDS} @@ ${query}::tsquery`, toTsQuery(q))
  values.push(take)
  const { rows } = await pool.query<LinkRow>(
    `${SELECT}
     WHERE ${conditions.join(' AND ')} ORDER BY l.id DESC LIMIT $${values.length}`,
    values,
  )
  return rows
}

/** Matches all words of a search by prefix. Words without separators need no escaping. */
const toTsQuery = (q: string): string =>
  q
    .toLowerCase()
    .split(SEPARATORS)
    .filter((word) => word !== '')
    .slice(0, MAX_WORDS)
    .map((word) => `'${word}':*`)
    .join(' & ')

/** A domain that links are created on. */
export type DomainOfLinks = { id: string; host: string }

/** The domains of a project with one of the ids or hosts. */
export const findDomains = async (
  pool: Pool,
  projectId: string,
  ids: readonly string[],
  hosts: readonly string[],
): Promise<DomainOfLinks[]> => {
  if (ids.length === 0 && hosts.length === 0) return []
  const { rows } = await pool.query<DomainOfLinks>({
    name: 'find-link-domains',
    text: `
      SELECT id, host FROM link.domains
      WHERE project_id = $1 AND deleted_at IS NULL AND (id = ANY($2::uuid[]) OR host = ANY($3::text[]))`,
    values: [projectId, ids, hosts],
  })
  return rows
}

import type { LinkQuery } from '@waymark/contracts'
import type { Pool } from 'pg'
import { LINK_COLUMNS, type LinkRow } from './link-view.ts'

type LinkFilter = Pick<LinkQuery, 'q' | 'tag' | 'campaign' | 'status'>

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
  { q, tag, campaign, status }: LinkFilter,
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
  if (tag !== undefined) add((wanted) => `l.tags @> ARRAY[${wanted}::text]`, tag)
  if (q !== undefined) add((query) => `${WORDS} @@ ${query}::tsquery`, toTsQuery(q))
  values.push(take)
  const { rows } = await pool.query<LinkRow>(
    `SELECT ${LINK_COLUMNS} FROM link.links l LEFT JOIN link.counts c ON c.link_id = l.id
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

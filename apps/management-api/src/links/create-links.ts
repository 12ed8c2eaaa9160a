import type { NewLink, ValidationItem } from '@waymark/contracts'
import { type BulkColumn, bulkColumns } from '@waymark/database'
import { generateCode } from '@waymark/domain'
import type { Pool } from 'pg'
import { v7 as uuidv7 } from 'uuid'
import { checkLink, codeErrors, type LinkValues } from './link-values.ts'
import { LINK_COLUMNS, type LinkRow } from './link-view.ts'

/** What became of one link. */
export type Creation =
  | { status: 'created' | 'existing'; row: LinkRow }
  | { status: 'failed'; errors: ValidationItem[] }

/** `chosen`: the code was asked for, so that no other will do. */
type Candidate = { index: number; id: string; code: string; chosen: boolean; values: LinkValues }

const ATTEMPTS = 6

type Row = Candidate & { projectId: string }

const stored: BulkColumn<Row>[] = [
  { name: 'id', type: 'uuid', of: ({ id }) => id },
  { name: 'project_id', type: 'uuid', of: ({ projectId }) => projectId },
  { name: 'code', type: 'text', of: ({ code }) => code },
  { name: 'destination', type: 'text', of: ({ values }) => values.destination },
  { name: 'starts_at', type: 'timestamptz', of: ({ values }) => values.startsAt },
  { name: 'expires_at', type: 'timestamptz', of: ({ values }) => values.expiresAt },
  { name: 'click_limit', type: 'int', of: ({ values }) => values.clickLimit },
  { name: 'campaign', type: 'text', of: ({ values }) => values.campaign },
  { name: 'utm', type: 'jsonb', of: ({ values }) => JSON.stringify(values.utm) },
  { name: 'forward_query', type: 'boolean', of: ({ values }) => values.forwardQuery },
  { name: 'external_id', type: 'text', of: ({ values }) => values.externalId },
  { name: 'targets', type: 'jsonb', of: ({ values }) => JSON.stringify(values.targets) },
]
const columns = bulkColumns(stored)
const given = bulkColumns<Row>([
  ...stored,
  // An array of arrays would be flattened on its way.
  { name: 'tags', type: 'jsonb', of: ({ values }) => JSON.stringify(values.tags) },
])

// In the order of codes, so that requests which share some wait for each other instead of deadlocking.
const INSERT = `
  WITH created AS (
    INSERT INTO link.links (${columns.names}, tags)
    SELECT ${columns.names}, ARRAY(SELECT jsonb_array_elements_text(tags))
    FROM ${given.unnest} AS given (${given.names}) ORDER BY code
    ON CONFLICT DO NOTHING RETURNING *
  )
  SELECT ${LINK_COLUMNS} FROM created l LEFT JOIN link.counts c ON c.link_id = l.id`
const BY_EXTERNAL_ID = `
  SELECT ${LINK_COLUMNS} FROM link.links l LEFT JOIN link.counts c ON c.link_id = l.id
  WHERE l.project_id = $1 AND l.external_id = ANY($2::text[])`

export type CreateLinksDeps = { pool: Pool; baseUrl: string }

/**
 * Creates links of a project, in bulk: one statement, and more only where a generated code was taken. A link with the
 * external id of one that exists is that one. Answers what became of each, in their order.
 */
export const createCreateLinks =
  ({ pool, baseUrl }: CreateLinksDeps) =>
  async (projectId: string, links: readonly NewLink[]): Promise<Creation[]> => {
    const creations: Creation[] = []
    let candidates = links.flatMap((link, index): Candidate[] => {
      const checked = checkLink(link, baseUrl)
      const errors = [
        ...(link.code === undefined ? [] : codeErrors(link.code)),
        ...('errors' in checked ? checked.errors : []),
      ]
      if (errors.length > 0 || 'errors' in checked) {
        creations[index] = { status: 'failed', errors }
        return []
      }
      const chosen = link.code !== undefined
      return [{ index, id: uuidv7(), code: link.code ?? generateCode(), chosen, values: checked.values }]
    })

    for (let attempt = 1; candidates.length > 0 && attempt <= ATTEMPTS; attempt++) {
      const created = await pool.query<LinkRow>({
        name: 'create-links',
        text: INSERT,
        values: given.values(candidates.map((candidate) => ({ ...candidate, projectId }))),
      })
      const byId = new Map(created.rows.map((row) => [row.id, row]))
      const left = candidates.filter(({ index, id }) => {
        const row = byId.get(id)
        if (row) creations[index] = { status: 'created', row }
        return row === undefined
      })
      const known = await findByExternalId(pool, projectId, left)
      candidates = left.flatMap((candidate) => {
        const { index, chosen, values } = candidate
        const row = known.get(values.externalId ?? '')
        if (row) creations[index] = { status: 'existing', row }
        // The id's last part may be another link's, too, but hardly twice.
        else if (!chosen || attempt === 1)
          return [{ ...candidate, id: uuidv7(), ...(!chosen && { code: generateCode() }) }]
        else creations[index] = { status: 'failed', errors: [TAKEN] }
        return []
      })
    }
    for (const { index } of candidates) creations[index] = { status: 'failed', errors: [TAKEN] }
    return creations
  }

const TAKEN: ValidationItem = { field: 'code', rule: 'unique', message: 'is taken' }

const findByExternalId = async (
  pool: Pool,
  projectId: string,
  candidates: readonly Candidate[],
): Promise<Map<string, LinkRow>> => {
  const ids = candidates.flatMap(({ values }) => values.externalId ?? [])
  if (ids.length === 0) return new Map()
  const { rows } = await pool.query<LinkRow>({
    name: 'find-links-by-external-id',
    text: BY_EXTERNAL_ID,
    values: [projectId, ids],
  })
  return new Map(rows.map((row) => [row.external_id ?? '', row]))
}

import type { NewLink, ValidationItem } from '@waymark/contracts'
import { type BulkColumn, bulkColumns, type Database } from '@waymark/database'
import { generateCode } from '@waymark/domain'
import { LoopTurns } from '@waymark/service-kit'
import type { ClientBase } from 'pg'
import { v7 as uuidv7 } from 'uuid'
import { writeTransaction } from '../http/write-transaction.ts'
import { type Quotas, requireWithinQuota } from '../quotas.ts'
import { checkLink, codeErrors, type LinkValues } from './link-values.ts'
import { LINK_COLUMNS, type LinkRow } from './link-view.ts'

/** The result for one link. */
export type Creation =
  | { status: 'created' | 'existing'; row: LinkRow }
  | { status: 'failed'; errors: ValidationItem[] }

/** A link to insert. `chosen`: the client chose the code. */
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
  // PostgreSQL would flatten an array of arrays.
  { name: 'tags', type: 'jsonb', of: ({ values }) => JSON.stringify(values.tags) },
])

// Ordered by code, so that concurrent requests do not deadlock.
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

// Last in the transaction, so that the row of the count is locked briefly.
const COUNT = `
  INSERT INTO link.project_counts AS c (project_id, links) VALUES ($1, $2)
  ON CONFLICT (project_id) DO UPDATE SET links = c.links + excluded.links RETURNING links`

type CreateLinksDeps = { db: Pick<Database, 'transaction'>; baseUrl: string; quotas: Quotas }

/**
 * Creates links of a project in bulk, with one statement unless a generated code is taken. A link with the external id of
 * an existing link is not created. Resolves to the result of each link, in order.
 * @throws AppError unprocessable, without creating any, when the project would exceed its quota
 */
export const createCreateLinks =
  ({ db, baseUrl, quotas }: CreateLinksDeps) =>
  async (projectId: string, links: readonly NewLink[]): Promise<Creation[]> => {
    const creations: Creation[] = []
    let candidates: Candidate[] = []
    const turns = new LoopTurns()
    for (const [index, link] of links.entries()) {
      if (turns.isOver()) await turns.next()
      const checked = checkLink(link, baseUrl)
      const errors = [
        ...(link.code === undefined ? [] : codeErrors(link.code)),
        ...('errors' in checked ? checked.errors : []),
      ]
      if (errors.length > 0 || 'errors' in checked) {
        creations[index] = { status: 'failed', errors }
        continue
      }
      const chosen = link.code !== undefined
      candidates.push({
        ...{ index, id: uuidv7(), chosen, values: checked.values },
        code: link.code ?? generateCode(),
      })
    }

    if (candidates.length === 0) return creations
    await writeTransaction(db, async (client) => {
      let added = 0
      for (let attempt = 1; candidates.length > 0 && attempt <= ATTEMPTS; attempt++) {
        const created = await client.query<LinkRow>({
          name: 'create-links',
          text: INSERT,
          values: given.values(candidates.map((candidate) => ({ ...candidate, projectId }))),
        })
        added += created.rows.length
        const byId = new Map(created.rows.map((row) => [row.id, row]))
        const left = candidates.filter(({ index, id }) => {
          const row = byId.get(id)
          if (row) creations[index] = { status: 'created', row }
          return row === undefined
        })
        const known = await findByExternalId(client, projectId, left)
        candidates = left.flatMap((candidate) => {
          const { index, chosen, values } = candidate
          const row = known.get(values.externalId ?? '')
          if (row) creations[index] = { status: 'existing', row }
          // The conflict may be with the click tag of the id, which a new id resolves.
          else if (!chosen || attempt === 1)
            return [{ ...candidate, id: uuidv7(), ...(!chosen && { code: generateCode() }) }]
          else creations[index] = { status: 'failed', errors: [TAKEN] }
          return []
        })
      }
      if (added === 0) return
      const { rows } = await client.query<{ links: string }>({
        name: 'count-links',
        text: COUNT,
        values: [projectId, added],
      })
      requireWithinQuota(quotas, 'links', Number(rows[0]?.links))
    })
    for (const { index } of candidates) creations[index] = { status: 'failed', errors: [TAKEN] }
    return creations
  }

const TAKEN: ValidationItem = { field: 'code', rule: 'unique', message: 'is taken' }

const findByExternalId = async (
  client: Pick<ClientBase, 'query'>,
  projectId: string,
  candidates: readonly Candidate[],
): Promise<Map<string, LinkRow>> => {
  const ids = candidates.flatMap(({ values }) => values.externalId ?? [])
  if (ids.length === 0) return new Map()
  const { rows } = await client.query<LinkRow>({
    name: 'find-links-by-external-id',
    text: BY_EXTERNAL_ID,
    values: [projectId, ids],
  })
  return new Map(rows.map((row) => [row.external_id ?? '', row]))
}

import type { LinkPatch } from '@waymark/contracts'
import type { Database } from '@waymark/database'
import { invalid, requireFound, unprocessable } from '../http/validation.ts'
import { writeTransaction } from '../http/write-transaction.ts'
import { checkLink } from './link-values.ts'
import { LINK_COLUMNS, type LinkRow, toLinkView } from './link-view.ts'

const LOCK = `
  SELECT ${LINK_COLUMNS} FROM link.links l LEFT JOIN link.counts c ON c.link_id = l.id
  WHERE l.id = $1 AND l.project_id = $2 FOR UPDATE OF l`

// Redirectors find changed links by updated_at, so it is the database's time and later than created_at.
const UPDATE = `
  WITH changed AS (
    UPDATE link.links SET status = $2, destination = $3, starts_at = $4, expires_at = $5, click_limit = $6,
      campaign = $7, tags = $8::text[], utm = $9, forward_query = $10, external_id = $11, targets = $12,
      updated_at = greatest(clock_timestamp(), created_at + interval '1 millisecond')
    WHERE id = $1 RETURNING *
  )
  SELECT ${LINK_COLUMNS} FROM changed l LEFT JOIN link.counts c ON c.link_id = l.id`

type LinkChange = {
  projectId: string
  id: string
  patch: LinkPatch
  baseUrl: string
  /** Called with the link before the change. */
  requireMatch: (current: unknown) => void
}

/**
 * Changes the values of a link that a patch names.
 * @throws AppError not_found, what `requireMatch` throws, or unprocessable when the result is not a valid link
 */
export const updateLink = async (
  db: Database,
  { projectId, id, patch, baseUrl, requireMatch }: LinkChange,
): Promise<LinkRow> =>
  writeTransaction(db, async (client) => {
    const { rows } = await client.query<LinkRow>(LOCK, [id, projectId])
    const current = toLinkView(requireFound(rows[0]), baseUrl)
    requireMatch(current)
    const { status, ...values } = { ...current, ...patch }
    const checked = checkLink(values, baseUrl)
    if ('errors' in checked) throw invalid(checked.errors)
    const { rows: changed } = await client
      .query<LinkRow>(UPDATE, [
        id,
        status,
        values.destination,
        values.startsAt,
        values.expiresAt,
        values.clickLimit,
        values.campaign,
        values.tags,
        JSON.stringify(values.utm),
        values.forwardQuery,
        values.externalId,
        JSON.stringify(values.targets),
      ])
      .catch(refuseTaken)
    return requireFound(changed[0])
  })

const refuseTaken = (error: unknown): never => {
  const { code, constraint } = error as { code?: unknown; constraint?: unknown }
  if (code === '23505' && constraint === 'links_project_id_external_id_key')
    throw unprocessable('externalId', 'unique', 'belongs to another link')
  throw error
}

import type { LinkPatch } from '@waymark/contracts'
import type { Database } from '@waymark/database'
import { invalid, requireFound, unprocessable } from '../http/validation.ts'
import { writeTransaction } from '../http/write-transaction.ts'
import { type LinkRow, lockLink, storeLink } from './link-queries.ts'
import { checkLink } from './link-values.ts'
import { shortUrlPrefix, toLinkView } from './link-view.ts'

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
    const current = toLinkView(requireFound(await lockLink(client, projectId, id)), baseUrl)
    requireMatch(current)
    const { status, ...values } = { ...current, ...patch }
    // What earlier versions accepted must not keep a link from being paused or archived.
    const isOnlyStatus = Object.keys(patch).every((name) => name === 'status')
    const checked = checkLink(values, shortUrlPrefix(current.domain, baseUrl))
    if ('errors' in checked && !isOnlyStatus) throw invalid(checked.errors)
    return await storeLink(client, id, { ...values, status }).catch(refuseTaken)
  })

const refuseTaken = (error: unknown): never => {
  const { code, constraint } = error as { code?: unknown; constraint?: unknown }
  if (code === '23505' && constraint === 'links_project_id_external_id_key')
    throw unprocessable('externalId', 'unique', 'belongs to another link')
  throw error
}

import type { LinkPatch } from '@waymark/contracts/http/links'
import type { Database } from '@waymark/database'
import { MAX_VARIANT_KEYS } from '@waymark/domain/link'
import { invalid, requireFound, unprocessable } from '../http/validation.ts'
import { writeTransaction } from '../http/write-transaction.ts'
import { type LinkRow, lockLink, storeLink } from './link-row-queries.ts'
import { checkLink } from './link-values.ts'
import { shortUrlPrefix, toLinkView } from './link-view.ts'

type LinkChange = {
  projectId: string
  id: string
  patch: LinkPatch
  /** The hash of the new password. Undefined keeps the one that there is, null removes it. */
  passwordHash: string | null | undefined
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
  { projectId, id, patch, passwordHash, baseUrl, requireMatch }: LinkChange,
): Promise<LinkRow> =>
  writeTransaction(db, async (client) => {
    const row = requireFound(await lockLink(client, projectId, id))
    const current = toLinkView(row, baseUrl)
    requireMatch(current)
    const changed = { ...current, ...patch }
    // What earlier versions accepted must not keep a link from being paused or archived.
    const isOnlyStatus = Object.keys(patch).every((name) => name === 'status')
    const checked = checkLink(changed, shortUrlPrefix(current.domain, baseUrl))
    if ('errors' in checked && !isOnlyStatus) throw invalid(checked.errors)
    const values = 'errors' in checked ? current : checked.values
    const variantKeys = [...new Set([...row.variant_keys, ...values.variants.map(({ key }) => key)])]
    if (variantKeys.length > MAX_VARIANT_KEYS) throw tooManyKeys(row.variant_keys)
    const stored = { id, status: changed.status, passwordHash, variantKeys, values }
    return await storeLink(client, stored).catch(refuseTaken)
  })

const tooManyKeys = (known: readonly string[]) =>
  unprocessable(
    'variants',
    'maxKeys',
    `would have had more than ${MAX_VARIANT_KEYS} different keys; use one of ${known.join(', ')} again`,
  )

const refuseTaken = (error: unknown): never => {
  const { code, constraint } = error as { code?: unknown; constraint?: unknown }
  if (code === '23505' && constraint === 'links_project_id_external_id_key')
    throw unprocessable('externalId', 'unique', 'belongs to another link')
  throw error
}

import { MAX_BULK_PASSWORDS, type NewLink } from '@waymark/contracts/http/links'
import type { ValidationItem } from '@waymark/contracts/http/track-result'
import type { Database } from '@waymark/database'
import { generateCode } from '@waymark/domain/link'
import { LoopTurns } from '@waymark/service-kit'
import { v7 as uuidv7 } from 'uuid'
import type { Passwords } from '../accounts/passwords.ts'
import { writeTransaction } from '../http/write-transaction.ts'
import { type Quotas, requireWithinQuota } from '../quotas.ts'
import { parseLinkHost } from './link-host.ts'
import {
  addToLinkCount,
  type DomainOfLinks,
  findByExternalId,
  findDomains,
  insertLinks,
  type LinkRow,
  type NewLinkRow,
} from './link-row-queries.ts'
import { checkLink, codeErrors } from './link-values.ts'
import { shortUrlPrefix } from './link-view.ts'

/** The result for one link. */
export type Creation =
  | { status: 'created' | 'existing'; row: LinkRow }
  | { status: 'failed'; errors: ValidationItem[] }

/** A link to insert, and its place in the request. `chosen`: the client chose the code. */
type Candidate = NewLinkRow & { index: number; chosen: boolean }

const ATTEMPTS = 6

type CreateLinksDeps = {
  db: Pick<Database, 'transaction' | 'pool'>
  passwords: Pick<Passwords, 'hash'>
  baseUrl: string
  quotas: Quotas
}

/**
 * Creates links of a project in bulk, with one statement unless a generated code is taken. A link with the external id of
 * an existing link is not created. Resolves to the result of each link, in order.
 * @throws AppError unprocessable, without creating any, when the project would exceed its quota, or overloaded when too
 * many passwords are being hashed
 */
export const createCreateLinks =
  ({ db, passwords, baseUrl, quotas }: CreateLinksDeps) =>
  async (projectId: string, links: readonly NewLink[]): Promise<Creation[]> => {
    const creations: Creation[] = []
    let candidates: Candidate[] = []
    const domainOf = await readDomains(db.pool, projectId, links)
    const turns = new LoopTurns()
    let hashes = 0
    for (const [index, link] of links.entries()) {
      if (turns.isOver()) await turns.next()
      const domain = domainOf(link)
      const errorsOfDomain = 'errors' in domain ? domain.errors : []
      const { id: domainId, host } = 'errors' in domain ? DEFAULT_DOMAIN : domain
      const checked = checkLink(link, shortUrlPrefix(host, baseUrl))
      const errors = [
        ...errorsOfDomain,
        ...(link.code === undefined ? [] : codeErrors(link.code)),
        ...('errors' in checked ? checked.errors : []),
        ...(link.password && ++hashes > MAX_BULK_PASSWORDS ? [TOO_MANY_PASSWORDS] : []),
      ]
      if (errors.length > 0 || 'errors' in checked) {
        creations[index] = { status: 'failed', errors }
        continue
      }
      const chosen = link.code !== undefined
      candidates.push({
        index,
        id: uuidv7(),
        chosen,
        domainId,
        values: checked.values,
        passwordHash: link.password ? await passwords.hash(link.password) : null,
        code: link.code ?? generateCode(),
      })
    }

    if (candidates.length === 0) return creations
    await writeTransaction(db, async (client) => {
      let added = 0
      for (let attempt = 1; candidates.length > 0 && attempt <= ATTEMPTS; attempt++) {
        const created = await insertLinks(client, projectId, candidates)
        added += created.length
        const byId = new Map(created.map((row) => [row.id, row]))
        const left = candidates.filter(({ index, id }) => {
          const row = byId.get(id)
          if (row) creations[index] = { status: 'created', row }
          return row === undefined
        })
        const known = await findByExternalId(
          client,
          projectId,
          left.flatMap(({ values }) => values.externalId ?? []),
        )
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
      // Last in the transaction, so that the row of the count is locked briefly.
      requireWithinQuota(quotas, 'links', await addToLinkCount(client, projectId, added))
    })
    for (const { index } of candidates) creations[index] = { status: 'failed', errors: [TAKEN] }
    return creations
  }

const TOO_MANY_PASSWORDS: ValidationItem = {
  field: 'password',
  rule: 'maxItems',
  message: `is given for more than ${MAX_BULK_PASSWORDS} links of the request; send the others in another one`,
}
const TAKEN: ValidationItem = { field: 'code', rule: 'unique', message: 'is taken' }

/** The domain of the installation. */
const DEFAULT_DOMAIN = { id: null, host: null }

type FoundDomain = DomainOfLinks | typeof DEFAULT_DOMAIN | { errors: ValidationItem[] }

/** Reads the domains that new links name. Returns a function that finds that of a link. */
const readDomains = async (
  pool: Database['pool'],
  projectId: string,
  links: readonly NewLink[],
): Promise<(link: NewLink) => FoundDomain> => {
  const ids = new Set(links.flatMap(({ domainId }) => domainId ?? []))
  const hosts = new Set(links.flatMap(({ domain }) => (domain && parseLinkHost(domain)) || []))
  const found = await findDomains(pool, projectId, [...ids], [...hosts])
  const byId = new Map(found.map((domain) => [domain.id, domain]))
  const byHost = new Map(found.map((domain) => [domain.host, domain]))
  return ({ domainId, domain }) => {
    const named = domain === undefined ? undefined : byHost.get(parseLinkHost(domain) ?? '')
    if (domain !== undefined && !named) return unknownDomain('domain')
    if (typeof domainId !== 'string') return named ?? DEFAULT_DOMAIN
    const known = byId.get(domainId.toLowerCase())
    return known && (!named || named === known) ? known : unknownDomain('domainId')
  }
}

const unknownDomain = (field: 'domain' | 'domainId'): FoundDomain => ({
  errors: [{ field, rule: 'exists', message: 'is not a link domain of this project' }],
})

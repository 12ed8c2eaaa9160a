import {
  archiveLink,
  type BulkLinkResult,
  createLink,
  createLinks,
  getLink,
  getLinkCampaignStats,
  getLinkQrCode,
  getLinkStats,
  listLinks as listLinksOperation,
  MAX_BULK_LINKS_BODY_BYTES,
  type NewLink,
  newLink,
  updateLink as updateLinkOperation,
} from '@waymark/contracts/http/links'
import type { ValidationItem } from '@waymark/contracts/http/track-result'
import { linkCopyKey, linkKeyOf } from '@waymark/pipeline'
import { extendDeadlineDuring, LoopTurns, type Route } from '@waymark/service-kit'
import { toString as toSvg } from 'qrcode'
import { pageOf } from '../http/page.ts'
import { invalid, requireFound, requireId } from '../http/validation.ts'
import type { ManagementDeps } from '../management-deps.ts'
import { type Creation, createCreateLinks } from './create-links.ts'
import { findLink, type LinkRow, listLinks } from './link-row-queries.ts'
import { periodOf, readCampaignStats, readLinkStats } from './link-stats-queries.ts'
import { toLinkView } from './link-view.ts'
import { updateLink } from './update-link.ts'

/** The margin that ISO/IEC 18004 requires. */
const QUIET_ZONE_MODULES = 4

/** What the passwords of a bulk request may take longer than others, in ms. */
const HASHING_MS = 20_000

/** A project's short links. */
export const linkRoutes = ({
  projectRoute,
  db,
  cache,
  clock,
  passwords,
  images,
  shortLinkBaseUrl: baseUrl,
  quotas,
}: ManagementDeps): Route[] => {
  const create = createCreateLinks({ db, passwords, baseUrl, quotas })
  const view = (row: LinkRow) => toLinkView(row, baseUrl)
  const find = async (projectId: string, id: string): Promise<LinkRow> =>
    requireFound(await findLink(db.pool, projectId, requireId(id)))
  const change = async (request: Parameters<typeof updateLink>[1]): Promise<LinkRow> => {
    const row = await updateLink(db, request)
    // Redirectors poll the database for changes; while it is unavailable they use the shared copy.
    await cache.delete(linkCopyKey(linkKeyOf({ domainId: row.domain_id, code: row.code })))
    return row
  }

  return [
    projectRoute(createLink, async ({ projectId, body }) => {
      const [created] = await create(projectId, [body])
      if (!created) throw new Error('A link of the request has no result')
      if (created.status === 'failed') throw invalid(created.errors)
      return { status: created.status === 'created' ? 201 : 200, body: view(created.row) }
    }),
    projectRoute(
      createLinks,
      async ({ projectId, body, request }) => {
        const creating = createMany(body.links, (links) => create(projectId, links), view)
        const results = await extendDeadlineDuring(request, HASHING_MS, creating)
        const count = (status: BulkLinkResult['status']) =>
          results.filter((result) => result.status === status).length
        return {
          body: {
            created: count('created'),
            existing: count('existing'),
            failed: count('failed'),
            results,
          },
        }
      },
      { maxBodyBytes: MAX_BULK_LINKS_BODY_BYTES },
    ),
    projectRoute(listLinksOperation, async ({ projectId, query }) => ({
      body: await pageOf(query, (_page, part) => listLinks(db.pool, projectId, query, part), view),
    })),
    projectRoute(getLink, async ({ projectId, id }) => ({ body: view(await find(projectId, id)) })),
    projectRoute(updateLinkOperation, async ({ projectId, id, body: patch, requireMatch }) => {
      const passwordHash = patch.password ? await passwords.hash(patch.password) : patch.password
      const row = await change({ projectId, id: requireId(id), patch, passwordHash, baseUrl, requireMatch })
      return { body: view(row) }
    }),
    projectRoute(archiveLink, async ({ projectId, id, requireMatch }) => {
      const patch = { status: 'archived' } as const
      const passwordHash = undefined
      await change({ projectId, id: requireId(id), patch, passwordHash, baseUrl, requireMatch })
      return { status: 204 }
    }),
    projectRoute(getLinkQrCode, async ({ projectId, id, query: { format, size } }) => {
      const { shortUrl } = view(await find(projectId, id))
      if (format === 'png') return { type: 'image/png', body: await images.qrCode(projectId, shortUrl, size) }
      const options = {
        width: size,
        margin: QUIET_ZONE_MODULES,
        errorCorrectionLevel: 'M',
        type: 'svg',
      } as const
      return { type: 'image/svg+xml; charset=utf-8', body: await toSvg(shortUrl, options) }
    }),
    projectRoute(getLinkStats, async ({ projectId, id, query }) => {
      const period = periodOf(query, new Date(clock()))
      const { id: linkId } = await find(projectId, id)
      return { body: await readLinkStats(db.pool, linkId, period) }
    }),
    projectRoute(getLinkCampaignStats, async ({ projectId, query }) => ({
      body: await readCampaignStats(db.pool, projectId, periodOf(query, new Date(clock()))),
    })),
  ]
}

/** Creates the well-formed links of a bulk request, and returns the result of each link. */
const createMany = async (
  given: readonly unknown[],
  create: (links: readonly NewLink[]) => Promise<Creation[]>,
  view: (row: LinkRow) => NonNullable<BulkLinkResult['link']>,
): Promise<BulkLinkResult[]> => {
  const turns = new LoopTurns()
  const problems = new Map<number, ValidationItem>()
  const wellFormed: NewLink[] = []
  for (const [index, link] of given.entries()) {
    if (turns.isOver()) await turns.next()
    if (newLink.fits(link)) wellFormed.push(link)
    else problems.set(index, newLink.check(link) ?? { field: '', rule: 'schema', message: 'is invalid' })
  }
  const creations = (await create(wellFormed)).values()
  return given.map((_link, index): BulkLinkResult => {
    const problem = problems.get(index)
    if (problem) return { index, status: 'failed', errors: [problem] }
    const creation = creations.next().value
    if (!creation) throw new Error('A link of the request has no result')
    return creation.status === 'failed'
      ? { index, status: 'failed', errors: creation.errors }
      : { index, status: creation.status, link: view(creation.row) }
  })
}

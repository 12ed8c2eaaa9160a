import {
  archiveLink,
  type BulkLinkResult,
  createLink,
  createLinks,
  getLink,
  getLinkQrCode,
  getLinkStats,
  listLinks as listLinksOperation,
  MAX_BULK_LINKS_BODY_BYTES,
  type NewLink,
  newLink,
  updateLink as updateLinkOperation,
  type ValidationItem,
} from '@waymark/contracts'
import { linkCopyKey } from '@waymark/pipeline'
import { LoopTurns, type Platform, type Route } from '@waymark/service-kit'
import { toBuffer, toString as toSvg } from 'qrcode'
import { pageOf } from '../http/page.ts'
import type { ProjectRouteFactory } from '../http/project-route.ts'
import { invalid, requireFound, requireId } from '../http/validation.ts'
import type { Quotas } from '../quotas.ts'
import { type Creation, createCreateLinks } from './create-links.ts'
import { periodOf, readLinkStats } from './link-stats.ts'
import { LINK_COLUMNS, type LinkRow, toLinkView } from './link-view.ts'
import { listLinks } from './list-links.ts'
import { updateLink } from './update-link.ts'

export type LinkRoutesDeps = Pick<Platform, 'db' | 'cache' | 'clock'> & {
  projectRoute: ProjectRouteFactory
  /** Where short links are answered, without a slash at the end. */
  shortLinkBaseUrl: string
  quotas: Quotas
}

/** The margin that ISO/IEC 18004 asks for, so that scanners find the code. */
const QUIET_ZONE_MODULES = 4

const FIND = `
  SELECT ${LINK_COLUMNS} FROM link.links l LEFT JOIN link.counts c ON c.link_id = l.id
  WHERE l.id = $1 AND l.project_id = $2`

/** A project's short links. */
export const linkRoutes = ({
  projectRoute,
  db,
  cache,
  clock,
  shortLinkBaseUrl: baseUrl,
  quotas,
}: LinkRoutesDeps): Route[] => {
  const create = createCreateLinks({ db, baseUrl, quotas })
  const view = (row: LinkRow) => toLinkView(row, baseUrl)
  const find = async (projectId: string, id: string): Promise<LinkRow> => {
    const { rows } = await db.pool.query<LinkRow>({
      name: 'find-link',
      text: FIND,
      values: [requireId(id), projectId],
    })
    return requireFound(rows[0])
  }
  const change = async (request: Parameters<typeof updateLink>[1]): Promise<LinkRow> => {
    const row = await updateLink(db, request)
    // Redirectors hear of the change from the database; this is for those that cannot ask it.
    await cache.delete(linkCopyKey(row.code))
    return row
  }

  return [
    projectRoute(createLink, async ({ projectId, body }) => {
      const [created] = await create(projectId, [body])
      if (!created) throw new Error('a link came to nothing')
      if (created.status === 'failed') throw invalid(created.errors)
      return { status: created.status === 'created' ? 201 : 200, body: view(created.row) }
    }),
    projectRoute(
      createLinks,
      async ({ projectId, body }) => {
        const results = await createMany(body.links, (links) => create(projectId, links), view)
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
      body: await pageOf(
        query,
        ({ id }, take) => listLinks(db.pool, projectId, query, { before: id?.lt, take }),
        view,
      ),
    })),
    projectRoute(getLink, async ({ projectId, id }) => ({ body: view(await find(projectId, id)) })),
    projectRoute(updateLinkOperation, async ({ projectId, id, body: patch, requireMatch }) => ({
      body: view(await change({ projectId, id: requireId(id), patch, baseUrl, requireMatch })),
    })),
    projectRoute(archiveLink, async ({ projectId, id, requireMatch }) => {
      const patch = { status: 'archived' } as const
      await change({ projectId, id: requireId(id), patch, baseUrl, requireMatch })
      return { status: 204 }
    }),
    projectRoute(getLinkQrCode, async ({ projectId, id, query: { format, size } }) => {
      const { shortUrl } = view(await find(projectId, id))
      const options = { width: size, margin: QUIET_ZONE_MODULES, errorCorrectionLevel: 'M' } as const
      return format === 'svg'
        ? { type: 'image/svg+xml; charset=utf-8', body: await toSvg(shortUrl, { ...options, type: 'svg' }) }
        : { type: 'image/png', body: await toBuffer(shortUrl, options) }
    }),
    projectRoute(getLinkStats, async ({ projectId, id, query }) => {
      const period = periodOf(query, new Date(clock()))
      const { id: linkId } = await find(projectId, id)
      return { body: await readLinkStats(db.pool, linkId, period) }
    }),
  ]
}

/** Creates the links of a bulk request that are well-formed, and says of each what became of it. */
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
    if (!creation) throw new Error('a link came to nothing')
    return creation.status === 'failed'
      ? { index, status: 'failed', errors: creation.errors }
      : { index, status: creation.status, link: view(creation.row) }
  })
}

import {
  createLinkDomain,
  deleteLinkDomain,
  getLinkDomain,
  type LinkDomainPatch,
  type LinkDomainView,
  listLinkDomains,
  MAX_APP_FILE_BYTES,
  MAX_LINK_DOMAINS,
  updateLinkDomain,
  verifyLinkDomain,
} from '@waymark/contracts/http/link-domains'
import type { ValidationItem } from '@waymark/contracts/http/track-result'
import { Prisma } from '@waymark/database'
import { generateToken } from '@waymark/domain/account'
import { checkDestination } from '@waymark/domain/link'
import type { Route } from '@waymark/service-kit'
import { v7 as uuidv7 } from 'uuid'
import { pageOf } from '../http/page.ts'
import { clientOf } from '../http/request-parts.ts'
import { requireAllowed } from '../http/require-allowed.ts'
import { invalid, requireFound, requireId, unprocessable } from '../http/validation.ts'
import { lockName, lockRow } from '../lock-queries.ts'
import type { ManagementDeps } from '../management-deps.ts'
import { readRecordValues, recordOf } from '../oidc/domains.ts'
import { parseLinkHost } from './link-host.ts'

type StoredDomain = Prisma.LinkDomainGetPayload<object>

/** Requests to add or verify a domain, per project and hour. Each may ask name servers. */
const CHECKS_PER_HOUR = 500
const HOUR_MS = 3_600_000

/** What the audit log calls a check that removed a verification. */
const UNVERIFY = 'unverifyLinkDomain'

/** The domains on which a project's short links are reached. A host is verified for one project at most. */
export const linkDomainRoutes = ({
  projectRoute,
  auditLog,
  db,
  clock,
  rateLimiter,
  resolveTxt,
  shortLinkBaseUrl,
}: ManagementDeps): Route[] => {
  const ownHost = URL.parse(shortLinkBaseUrl)?.hostname
  const allowCheck = (projectId: string) =>
    requireAllowed(rateLimiter, {
      bucket: 'link-domains',
      key: projectId,
      limit: CHECKS_PER_HOUR,
      windowMs: HOUR_MS,
      message: 'Too many attempts to add or verify a domain',
    })
  /** The domain of another project that has verified the host. */
  const findForeign = (
    { linkDomain }: Pick<Prisma.TransactionClient, 'linkDomain'>,
    projectId: string,
    host: string,
  ) => linkDomain.findFirst({ where: { host, projectId: { not: projectId }, verifiedAt: { not: null } } })

  return [
    projectRoute(createLinkDomain, async ({ projectId, body, allowAgain }) => {
      const host = parseLinkHost(body.host)
      if (host === undefined)
        throw unprocessable(
          'host',
          'format',
          'must be a host such as go.shop.example, without a port',
          body.host,
        )
      if (host === ownHost) throw unprocessable('host', 'reserved', 'is the host of this installation', host)
      const values = checkedValues(body, host)
      await allowCheck(projectId)
      const foreign = await findForeign(db.prisma, projectId, host)
      // A project that no longer controls the host does not keep others from using it.
      if (foreign && hasRecordOf(foreign, await readRecordValues(resolveTxt, host))) throw takenHost(host)
      // The name servers of the host may have taken seconds.
      await allowAgain()
      const { token } = generateToken()
      const created = await db.prisma.$transaction(async (tx) => {
        await lockName(tx, `link-domains:${projectId}`)
        const known = await tx.linkDomain.findFirst({ where: { projectId, host } })
        if (known && known.deletedAt === null)
          throw unprocessable('host', 'unique', 'was added already', host)
        if ((await tx.linkDomain.count({ where: { projectId, deletedAt: null } })) >= MAX_LINK_DOMAINS)
          throw unprocessable('', 'quota', `would be more than ${MAX_LINK_DOMAINS} domains; remove one first`)
        return known
          ? tx.linkDomain.update({
              where: { id: known.id },
              data: { token, ...NO_VALUES, ...values, deletedAt: null, ...changedAt(clock()) },
            })
          : tx.linkDomain.create({ data: { id: uuidv7(), projectId, host, token, ...values } })
      })
      return reply(created, 201)
    }),

    projectRoute(listLinkDomains, async ({ projectId, query }) => ({
      body: await pageOf(
        query,
        (page) => db.prisma.linkDomain.findMany(page({ projectId, deletedAt: null })),
        view,
      ),
    })),

    projectRoute(getLinkDomain, async ({ projectId, id }) =>
      reply(await findDomain(db.prisma, projectId, id)),
    ),

    projectRoute(updateLinkDomain, async ({ projectId, id, body, requireMatch }) =>
      db.prisma.$transaction(async (tx) => {
        const found = await lockDomain(tx, projectId, id)
        requireMatch(view(found))
        const data = { ...checkedValues(body, found.host), ...changedAt(clock()) }
        return reply(await tx.linkDomain.update({ where: { id }, data }))
      }),
    ),

    projectRoute(verifyLinkDomain, async ({ projectId, id, actor, request, allowAgain }) => {
      const { host } = await findDomain(db.prisma, projectId, id)
      await allowCheck(projectId)
      const values = await readRecordValues(resolveTxt, host)
      await allowAgain()
      const verified = await db.prisma.$transaction(async (tx) => {
        await lockName(tx, `link-host:${host}`)
        const found = await lockDomain(tx, projectId, id)
        if (!values?.has(recordOf(recordKey(found)).recordValue)) {
          const isLost = values !== undefined && found.verifiedAt !== null
          if (isLost) await unverify(tx, found, clock())
          return { found, isLost }
        }
        const foreign = await findForeign(tx, projectId, host)
        if (foreign && hasRecordOf(foreign, values)) throw takenHost(host)
        if (foreign) await unverify(tx, foreign, clock())
        const data = { verifiedAt: new Date(clock()), ...changedAt(clock()) }
        return { updated: await tx.linkDomain.update({ where: { id }, data }), loser: foreign }
      })
      if (verified.updated) {
        const { loser } = verified
        // Nothing about the project that has the host now.
        if (loser) await auditLog.recordOfSystem(loser.projectId, UNVERIFY, loser.id)
        return reply(verified.updated)
      }
      // The wrapper of project routes does not record refused requests.
      if (verified.isLost)
        await auditLog.record(projectId, {
          actor,
          operation: UNVERIFY,
          resourceId: id,
          client: clientOf(request),
        })
      throw missingRecord(verified.found, values !== undefined)
    }),

    projectRoute(deleteLinkDomain, async ({ projectId, id, requireMatch }) => {
      await db.prisma.$transaction(async (tx) => {
        requireMatch(view(await lockDomain(tx, projectId, id)))
        const now = clock()
        await tx.linkDomain.update({
          where: { id },
          data: { verifiedAt: null, deletedAt: new Date(now), ...changedAt(now) },
        })
      })
      return { status: 204 }
    }),
  ]
}

type Transaction = Prisma.TransactionClient

const findDomain = async (
  { linkDomain }: Pick<Transaction, 'linkDomain'>,
  projectId: string,
  id: string,
): Promise<StoredDomain> =>
  requireFound(await linkDomain.findFirst({ where: { id: requireId(id), projectId, deletedAt: null } }))

/** Reads a domain and locks it until the transaction ends. */
const lockDomain = async (tx: Transaction, projectId: string, id: string): Promise<StoredDomain> => {
  await lockRow(tx, 'link.domains', id, 'NO KEY UPDATE')
  return findDomain(tx, projectId, id)
}

const changedAt = (now: number) => ({ updatedAt: new Date(now), version: { increment: 1 } })

const unverify = ({ linkDomain }: Transaction, { id }: StoredDomain, now: number) =>
  linkDomain.update({ where: { id }, data: { verifiedAt: null, ...changedAt(now) } })

const recordKey = ({ host, token }: StoredDomain) => ({ domain: host, token })

/** Whether a domain has its record, or may have it because the name servers did not answer. */
const hasRecordOf = (domain: StoredDomain, values: ReadonlySet<string> | undefined): boolean =>
  values?.has(recordOf(recordKey(domain)).recordValue) ?? true

const takenHost = (host: string) => unprocessable('host', 'unique', 'belongs to another project', host)

const missingRecord = (domain: StoredDomain, answered: boolean) => {
  const { recordName, recordValue } = recordOf(recordKey(domain))
  return unprocessable(
    'host',
    'dns',
    answered
      ? `has no TXT record ${recordName} with the value ${recordValue} yet`
      : `could not be checked, because the name servers did not answer for ${recordName}; try again later`,
  )
}

const ADDRESSES = ['rootUrl', 'notFoundUrl', 'expiredUrl'] as const
const FILES = ['appleAppSiteAssociation', 'assetLinks'] as const
const NO_VALUES = {
  rootUrl: null,
  notFoundUrl: null,
  expiredUrl: null,
  appleAppSiteAssociation: Prisma.DbNull,
  assetLinks: Prisma.DbNull,
}

type StoredValues = Partial<
  Record<(typeof ADDRESSES)[number], string | null> &
    Record<(typeof FILES)[number], Prisma.InputJsonValue | typeof Prisma.DbNull>
>

/** The given addresses and files of a domain, normalized. @throws AppError unprocessable with all problems */
const checkedValues = (given: LinkDomainPatch, host: string): StoredValues => {
  const errors: ValidationItem[] = []
  const checked: StoredValues = {}
  for (const field of ADDRESSES) {
    const text = given[field]
    if (text === undefined || text === null) {
      if (text === null) checked[field] = null
      continue
    }
    const result = checkDestination(text)
    if ('problem' in result) errors.push({ field, rule: 'destination', message: result.problem })
    else if (parseLinkHost(new URL(result.url).hostname) === host)
      errors.push({ field, rule: 'destination', message: 'is on the domain itself' })
    else checked[field] = result.url
  }
  for (const field of FILES) {
    const file = given[field]
    if (file === undefined) continue
    if (Buffer.byteLength(JSON.stringify(file)) > MAX_APP_FILE_BYTES)
      errors.push({
        field,
        rule: 'maxBytes',
        message: `must have at most ${MAX_APP_FILE_BYTES} bytes as JSON`,
      })
    checked[field] = file === null ? Prisma.DbNull : (file as Prisma.InputJsonValue)
  }
  if (errors.length > 0) throw invalid(errors)
  return checked
}

const view = (domain: StoredDomain): LinkDomainView => {
  const { recordName, recordValue } = recordOf(recordKey(domain))
  return {
    id: domain.id,
    host: domain.host,
    rootUrl: domain.rootUrl,
    notFoundUrl: domain.notFoundUrl,
    expiredUrl: domain.expiredUrl,
    appleAppSiteAssociation: domain.appleAppSiteAssociation as LinkDomainView['appleAppSiteAssociation'],
    assetLinks: domain.assetLinks as LinkDomainView['assetLinks'],
    verification: { type: 'TXT', name: recordName, value: recordValue },
    verifiedAt: domain.verifiedAt?.toISOString() ?? null,
    createdAt: domain.createdAt.toISOString(),
    updatedAt: domain.updatedAt.toISOString(),
  }
}

const reply = (domain: StoredDomain, status = 200) => ({ status, body: view(domain) })

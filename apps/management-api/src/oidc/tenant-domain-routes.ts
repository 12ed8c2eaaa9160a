import {
  createTenantDomain,
  deleteTenantDomain,
  listTenantDomains,
  MAX_TENANT_DOMAINS,
  verifyTenantDomain,
} from '@waymark/contracts/http/oidc'
import type { Prisma } from '@waymark/database'
import { generateToken } from '@waymark/domain/account'
import type { Route } from '@waymark/service-kit'
import { v7 as uuidv7 } from 'uuid'
import { requireAllowed } from '../http/require-allowed.ts'
import { requireFound, requireId, unprocessable } from '../http/validation.ts'
import type { ManagementDeps } from '../management-deps.ts'
import { hasRecord, parseDomain, recordOf } from './domains.ts'
import type { OidcDeps } from './oidc-deps.ts'
import { ownedTenant } from './owned-tenant.ts'
import { lockTenant } from './provider-routes.ts'

/** Attempts to verify a domain, per tenant and hour. */
const CHECKS_PER_HOUR = 60
const HOUR_MS = 3_600_000

/** The domains of a tenant, for whose addresses its providers create accounts. */
export const tenantDomainRoutes = ({
  oidc,
  accountRoutes,
  auditLog,
  db,
  clock,
  rateLimiter,
}: ManagementDeps & { oidc: OidcDeps }): Route[] => [
  accountRoutes.signedIn(createTenantDomain, async ({ session, query, body, client }) => {
    const tenantId = await ownedTenant(db, session, query.tenantId)
    const domain = parseDomain(body.domain)
    if (!domain) throw unprocessable('domain', 'format', 'must be a domain such as shop.example', body.domain)
    const created = await db.prisma.$transaction(async (tx) => {
      await lockTenant(tx, tenantId)
      if (await tx.tenantDomain.findFirst({ where: { tenantId, domain } }))
        throw unprocessable('domain', 'unique', 'was added already', domain)
      if ((await tx.tenantDomain.count({ where: { tenantId } })) >= MAX_TENANT_DOMAINS)
        throw unprocessable('', 'quota', `would be more than ${MAX_TENANT_DOMAINS} domains; remove one first`)
      return tx.tenantDomain.create({
        data: { id: uuidv7(), tenantId, domain, token: generateToken().token },
      })
    })
    await auditLog.recordOfUser(session.user.id, {
      operation: createTenantDomain.id,
      resourceId: created.id,
      body,
      client,
    })
    return { status: 201, body: view(created) }
  }),

  accountRoutes.signedIn(listTenantDomains, async ({ session, query }) => {
    const tenantId = await ownedTenant(db, session, query.tenantId)
    const found = await db.prisma.tenantDomain.findMany({ where: { tenantId }, orderBy: { id: 'desc' } })
    return { body: { data: found.map(view) } }
  }),

  accountRoutes.signedIn(verifyTenantDomain, async ({ session, id, query, client, allowAgain }) => {
    const tenantId = await ownedTenant(db, session, query.tenantId)
    const where = { id: requireId(id), tenantId }
    const found = requireFound(await db.prisma.tenantDomain.findFirst({ where }))
    await requireAllowed(rateLimiter, {
      bucket: 'tenant-domains',
      key: tenantId,
      limit: CHECKS_PER_HOUR,
      windowMs: HOUR_MS,
      message: 'Too many attempts to verify a domain',
    })
    if (!(await hasRecord(oidc.resolveTxt, found))) {
      const { recordName, recordValue } = recordOf(found)
      throw unprocessable('id', 'dns', `has no TXT record ${recordName} with the value ${recordValue} yet`)
    }
    // Its name servers may have taken seconds.
    await allowAgain()
    await ownedTenant(db, session, query.tenantId)
    await db.prisma.$transaction((tx) =>
      tx.tenantDomain.updateMany({ where, data: { verifiedAt: new Date(clock()) } }),
    )
    await auditLog.recordOfUser(session.user.id, {
      operation: verifyTenantDomain.id,
      resourceId: id,
      client,
    })
    return { body: view(requireFound(await db.prisma.tenantDomain.findFirst({ where }))) }
  }),

  accountRoutes.signedIn(deleteTenantDomain, async ({ session, id, query, client }) => {
    const tenantId = await ownedTenant(db, session, query.tenantId)
    const { count } = await db.prisma.tenantDomain.deleteMany({ where: { id: requireId(id), tenantId } })
    requireFound(count > 0 || null)
    await auditLog.recordOfUser(session.user.id, {
      operation: deleteTenantDomain.id,
      resourceId: id,
      client,
    })
    return { status: 204 }
  }),
]

const view = ({ id, domain, token, verifiedAt, createdAt }: Prisma.TenantDomainGetPayload<object>) => ({
  id,
  domain,
  ...recordOf({ domain, token }),
  verifiedAt,
  createdAt,
})

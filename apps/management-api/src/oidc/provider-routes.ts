import {
  createOidcProvider,
  deleteOidcProvider,
  listOidcProviders,
  MAX_OIDC_PROVIDERS,
  type RoleMapping,
  updateOidcProvider,
} from '@waymark/contracts/http/oidc'
import type { Prisma } from '@waymark/database'
import type { Route } from '@waymark/service-kit'
import { v7 as uuidv7 } from 'uuid'
import { coversProject, type Session } from '../accounts/session-queries.ts'
import { requireAllowed } from '../http/require-allowed.ts'
import { requireFound, requireId, unprocessable } from '../http/validation.ts'
import { lockRow } from '../lock-queries.ts'
import type { ManagementDeps } from '../management-deps.ts'
import type { OidcDeps } from './oidc-deps.ts'
import { ownedTenant } from './owned-tenant.ts'
import type { OidcProvider } from './provider-clients.ts'
import { redirectUriOf } from './provider-flow.ts'
import { mappingsOf } from './role-mappings.ts'

/** Providers that a tenant may name per hour: the configuration of each is requested. */
const CHECKS_PER_HOUR = 60
const HOUR_MS = 3_600_000

/** The OpenID Connect providers of a tenant. */
export const oidcProviderRoutes = ({ oidc, ...deps }: ManagementDeps & { oidc: OidcDeps }): Route[] => {
  const { accountRoutes, auditLog, db, clock, rateLimiter } = deps

  const view = (provider: OidcProvider) => ({
    id: provider.id,
    name: provider.name,
    issuer: provider.issuer,
    clientId: provider.clientId,
    hasClientSecret: provider.clientSecret !== null,
    scopes: provider.scopes,
    groupsClaim: provider.groupsClaim,
    roleMappings: [...mappingsOf(provider)],
    redirectUri: redirectUriOf(oidc.publicUrl, provider.id),
    backchannelLogoutUri: `${oidc.publicUrl}/api/auth/oidc/${provider.id}/backchannel-logout`,
    createdAt: provider.createdAt,
    updatedAt: provider.updatedAt,
  })

  /** @throws AppError unprocessable or forbidden unless the user owns each project whose mappings differ */
  const requireMayMap = async (
    tx: Prisma.TransactionClient,
    session: Session,
    tenantId: string,
    before: readonly RoleMapping[],
    after: readonly RoleMapping[],
  ): Promise<void> => {
    const of = (mappings: readonly RoleMapping[], projectId: string) =>
      JSON.stringify(
        mappings
          .filter((mapping) => mapping.projectId === projectId)
          .map(({ group, role }) => [group, role])
          .toSorted((a, b) => JSON.stringify(a).localeCompare(JSON.stringify(b))),
      )
    const projectIds = [...new Set([...before, ...after].map(({ projectId }) => projectId))]
    const changed = projectIds.filter((projectId) => of(before, projectId) !== of(after, projectId))
    const owned = await tx.projectMember.findMany({
      where: {
        userId: session.user.id,
        role: 'owner',
        projectId: { in: changed },
        project: { tenantId },
      },
    })
    const ownedIds = new Set(owned.map(({ projectId }) => projectId))
    const foreign = changed.find((id) => !ownedIds.has(id) || !coversProject(session, id))
    if (foreign !== undefined)
      throw unprocessable(
        'roleMappings',
        'owner',
        'may change only for projects of the tenant that you own',
        foreign,
      )
  }

  return [
    accountRoutes.signedIn(createOidcProvider, async ({ session, query, body, client, allowAgain }) => {
      const tenantId = await ownedTenant(db, session, query.tenantId)
      const { issuer, clientSecret = null, roleMappings = [] } = body
      if (!oidc.clients.isUsableIssuer(issuer))
        throw unprocessable(
          'issuer',
          'format',
          'must be an https URL without user, query, fragment and /.well-known/',
          issuer,
        )
      await requireAllowed(rateLimiter, {
        bucket: 'oidc-providers',
        key: tenantId,
        limit: CHECKS_PER_HOUR,
        windowMs: HOUR_MS,
        message: 'Too many providers were added',
      })
      const id = uuidv7()
      await oidc.clients.check({ id, version: 0, issuer, clientId: body.clientId, clientSecret })
      // The provider may have taken seconds to answer.
      await allowAgain()
      await ownedTenant(db, session, query.tenantId)
      const created = await db.prisma.$transaction(async (tx) => {
        await lockTenant(tx, tenantId)
        if ((await tx.oidcProvider.count({ where: { tenantId } })) >= MAX_OIDC_PROVIDERS)
          throw unprocessable(
            '',
            'quota',
            `would be more than ${MAX_OIDC_PROVIDERS} providers; remove one first`,
          )
        await requireMayMap(tx, session, tenantId, [], roleMappings)
        return tx.oidcProvider.create({ data: { ...body, id, tenantId, clientSecret, roleMappings } })
      })
      await auditLog.recordOfUser(session.user.id, {
        operation: createOidcProvider.id,
        resourceId: id,
        body,
        client,
      })
      return { status: 201, body: view(created) }
    }),

    accountRoutes.signedIn(listOidcProviders, async ({ session, query }) => {
      const tenantId = await ownedTenant(db, session, query.tenantId)
      const found = await db.prisma.oidcProvider.findMany({ where: { tenantId }, orderBy: { id: 'desc' } })
      return { body: { data: found.map(view) } }
    }),

    accountRoutes.signedIn(updateOidcProvider, async ({ session, id, query, body, client }) => {
      const tenantId = await ownedTenant(db, session, query.tenantId)
      const updated = await db.prisma.$transaction(async (tx) => {
        await lockTenant(tx, tenantId)
        const found = requireFound(
          await tx.oidcProvider.findFirst({ where: { id: requireId(id), tenantId } }),
        )
        if (body.roleMappings)
          await requireMayMap(tx, session, tenantId, mappingsOf(found), body.roleMappings)
        return tx.oidcProvider.update({
          where: { id },
          data: { ...body, version: { increment: 1 }, updatedAt: new Date(clock()) },
        })
      })
      await auditLog.recordOfUser(session.user.id, {
        operation: updateOidcProvider.id,
        resourceId: id,
        body,
        client,
      })
      return { body: view(updated) }
    }),

    accountRoutes.signedIn(deleteOidcProvider, async ({ session, id, query, client }) => {
      const tenantId = await ownedTenant(db, session, query.tenantId)
      await db.prisma.$transaction(async (tx) => {
        await lockTenant(tx, tenantId)
        const where = { id: requireId(id), tenantId }
        requireFound(await tx.oidcProvider.findFirst({ where }))
        const { oidcOnly } = requireFound(await tx.tenant.findUnique({ where: { id: tenantId } }))
        if (oidcOnly && (await tx.oidcProvider.count({ where: { tenantId } })) === 1)
          throw unprocessable('id', 'last_provider', 'is the last provider: set oidcOnly to false first')
        await tx.oidcProvider.delete({ where: { id } })
      })
      await auditLog.recordOfUser(session.user.id, {
        operation: deleteOidcProvider.id,
        resourceId: id,
        client,
      })
      return { status: 204 }
    }),
  ]
}

/** Serializes changes of a tenant's providers, domains and policy. */
export const lockTenant = (tx: Prisma.TransactionClient, tenantId: string): Promise<void> =>
  lockRow(tx, 'core.tenants', tenantId, 'NO KEY UPDATE')

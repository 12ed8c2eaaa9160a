import { getSignInPolicy, updateSignInPolicy } from '@waymark/contracts/http/oidc'
import type { Route } from '@waymark/service-kit'
import { requireFound, unprocessable } from '../http/validation.ts'
import type { ManagementDeps } from '../management-deps.ts'
import { ownedTenant } from './owned-tenant.ts'
import { lockTenant } from './provider-routes.ts'

/** How members of a tenant sign in. Queries of sessions enforce it. */
export const signInPolicyRoutes = ({ accountRoutes, auditLog, db }: ManagementDeps): Route[] => [
  accountRoutes.signedIn(getSignInPolicy, async ({ session, query }) => {
    const id = await ownedTenant(db, session, query.tenantId)
    const { oidcOnly } = requireFound(await db.prisma.tenant.findUnique({ where: { id } }))
    return { body: { oidcOnly } }
  }),

  accountRoutes.signedIn(updateSignInPolicy, async ({ session, query, body, client }) => {
    const id = await ownedTenant(db, session, query.tenantId)
    const { oidcOnly } = body
    await db.prisma.$transaction(async (tx) => {
      await lockTenant(tx, id)
      if (oidcOnly && (await tx.oidcProvider.count({ where: { tenantId: id } })) === 0)
        throw unprocessable('oidcOnly', 'no_provider', 'needs a provider: add one first')
      await tx.tenant.update({ where: { id }, data: { oidcOnly } })
    })
    await auditLog.recordOfUser(session.user.id, {
      operation: updateSignInPolicy.id,
      resourceId: id,
      body,
      client,
    })
    return { body: { oidcOnly } }
  }),
]

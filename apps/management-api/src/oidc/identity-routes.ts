import { listIdentities, unlinkIdentity } from '@waymark/contracts/http/oidc'
import type { Route } from '@waymark/service-kit'
import type { Session } from '../accounts/session-queries.ts'
import { requireFound, requireId } from '../http/validation.ts'
import type { ManagementDeps } from '../management-deps.ts'

/** The providers that are linked to the account of the signed-in user. */
export const identityRoutes = ({ accountRoutes, auditLog, db }: ManagementDeps): Route[] => {
  // A session that began with a provider sees that one only.
  const ofSession = ({ user, identityId }: Session) => ({
    userId: user.id,
    ...(identityId !== null && { id: identityId }),
  })

  return [
    accountRoutes.signedIn(listIdentities, async ({ session }) => {
      const identities = await db.prisma.userIdentity.findMany({
        where: ofSession(session),
        include: { provider: { include: { tenant: true } } },
        orderBy: { id: 'asc' },
      })
      const linkable =
        session.identityId !== null
          ? []
          : await db.prisma.oidcProvider.findMany({
              where: {
                tenant: { projects: { some: { members: { some: { userId: session.user.id } } } } },
                identities: { none: { userId: session.user.id } },
              },
              include: { tenant: true },
              orderBy: { id: 'asc' },
            })
      return {
        body: {
          data: identities.map(({ id, providerId, provider, email, createdAt, lastUsedAt }) => ({
            id,
            providerId,
            providerName: provider.name,
            tenantName: provider.tenant.name,
            issuer: provider.issuer,
            email,
            createdAt,
            lastUsedAt,
          })),
          linkable: linkable.map(({ id, name, tenant }) => ({ id, name, tenantName: tenant.name })),
        },
      }
    }),

    accountRoutes.signedIn(unlinkIdentity, async ({ session, id, client }) => {
      const where = { AND: [ofSession(session), { id: requireId(id) }] }
      const { count } = await db.prisma.userIdentity.deleteMany({ where })
      requireFound(count > 0 || null)
      await auditLog.recordOfUser(session.user.id, {
        operation: unlinkIdentity.id,
        resourceId: id,
        client,
      })
      return { status: 204, ...(id === session.identityId && { token: null }) }
    }),
  ]
}

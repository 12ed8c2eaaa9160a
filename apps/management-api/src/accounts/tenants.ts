import { getTenantProfile, updateTenantProfile } from '@waymark/contracts/http/tenants'
import type { Route } from '@waymark/service-kit'
import { lacksRole } from '../http/project-route.ts'
import { secondFactorRequired } from '../http/reauthentication.ts'
import { requireFound, unprocessable } from '../http/validation.ts'
import type { ManagementDeps } from '../management-deps.ts'
import { tenantView } from './read-account.ts'
import { actorOf, type Session } from './session-queries.ts'
import { findTenants } from './tenant-queries.ts'

/** The tenant of a user's or key's projects. */
export const tenantRoutes = ({ accountRoutes, auditLog, db }: ManagementDeps): Route[] => {
  const tenantOf = async ({ user, projectIds }: Session, wanted: string | undefined) => {
    const tenants = await findTenants(db.prisma, user.id, projectIds)
    const tenant = requireFound(wanted === undefined ? tenants[0] : tenants.find(({ id }) => id === wanted))
    if (tenant.requiresSecondFactor && !user.meetsSecondFactor) throw secondFactorRequired()
    return tenant
  }
  const tenantOfProject = async (projectId: string, wanted: string | undefined) => {
    const project = requireFound(
      await db.prisma.project.findUnique({ where: { id: projectId }, include: { tenant: true } }),
    )
    return requireFound(wanted === undefined || wanted === project.tenantId ? project.tenant : null)
  }

  return [
    accountRoutes.signedInOrKey(getTenantProfile, async ({ caller, query: { tenantId } }) => ({
      body: tenantView(
        caller.kind === 'user'
          ? await tenantOf(caller.session, tenantId)
          : await tenantOfProject(caller.projectId, tenantId),
      ),
    })),

    accountRoutes.signedIn(updateTenantProfile, async ({ session, query, body, client, checkEffects }) => {
      const { id, owned } = await tenantOf(session, query.tenantId)
      if (!owned) throw lacksRole('owner')
      const { name, requiresSecondFactor } = body
      checkEffects()
      if (requiresSecondFactor && !session.user.hasSecondFactor)
        throw unprocessable(
          'requiresSecondFactor',
          'own_second_factor',
          'needs a second factor of your own first',
        )
      const tenant = await db.prisma.tenant.update({
        where: { id },
        data: {
          ...(name !== undefined && { name }),
          ...(requiresSecondFactor !== undefined && { requiresSecondFactor }),
        },
      })
      await auditLog.recordOfUser(session.user.id, {
        operation: updateTenantProfile.id,
        resourceId: id,
        body,
        client,
        accessTokenId: actorOf(session).accessTokenId,
      })
      return { body: tenantView(tenant) }
    }),
  ]
}

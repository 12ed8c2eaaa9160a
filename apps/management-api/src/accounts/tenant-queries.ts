import type { Prisma } from '@waymark/database'
import type { Session } from './session-queries.ts'

/** A tenant of a user; `owned` if the user owns one of its projects. */
export type TenantOfUser = {
  id: string
  name: string
  requiresSecondFactor: boolean
  createdAt: Date
  owned: boolean
}

/**
 * The tenants of a user's projects, or of those in `projectIds`: owned ones first, then the oldest. Archived projects
 * count, so that a user keeps the tenant of an archived last project.
 */
export const findTenants = (
  prisma: Pick<Prisma.TransactionClient, '$queryRaw'>,
  userId: string,
  projectIds: Session['projectIds'] = null,
): Promise<TenantOfUser[]> =>
  prisma.$queryRaw<TenantOfUser[]>`
    SELECT t.id, t.name, t.requires_second_factor AS "requiresSecondFactor", t.created_at AS "createdAt", bool_or(m.role = 'owner') AS owned
    FROM core.project_members m JOIN core.projects p ON p.id = m.project_id JOIN core.tenants t ON t.id = p.tenant_id
    WHERE m.user_id = ${userId}::uuid AND (${projectIds}::uuid[] IS NULL OR p.id = ANY(${projectIds}::uuid[]))
    GROUP BY t.id ORDER BY owned DESC, t.id`

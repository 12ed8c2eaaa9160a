import type { Platform } from '@waymark/service-kit'
import type { Session } from '../accounts/session-queries.ts'
import { findTenants } from '../accounts/tenant-queries.ts'
import { lacksRole } from '../http/project-route.ts'
import { secondFactorRequired } from '../http/reauthentication.ts'
import { requireFound } from '../http/validation.ts'

/**
 * The id of a tenant of which the user owns a project: the given one, or the first one of the user.
 * @throws AppError not_found without a project in it, forbidden without an own one or the second factor that it requires
 */
export const ownedTenant = async (
  { prisma }: Pick<Platform['db'], 'prisma'>,
  { user, projectIds }: Session,
  wanted: string | undefined,
): Promise<string> => {
  const tenants = await findTenants(prisma, user.id, projectIds)
  const { id, owned, requiresSecondFactor } = requireFound(
    wanted === undefined ? tenants[0] : tenants.find((tenant) => tenant.id === wanted),
  )
  if (requiresSecondFactor && !user.meetsSecondFactor) throw secondFactorRequired()
  if (!owned) throw lacksRole('owner')
  return id
}

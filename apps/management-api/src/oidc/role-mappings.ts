import type { RoleMapping } from '@waymark/contracts/http/oidc'
import type { ProjectRole } from '@waymark/contracts/project-role'
import type { Prisma } from '@waymark/database'
import { strongerRole } from '@waymark/domain/account'
import { roleOf } from '../accounts/read-account.ts'
import { lockProjectMembers, revokeKeysOf } from '../api-keys/key-owners.ts'
import { hasOtherOwner, removeFrom, revokeInvitations } from '../projects/members.ts'
import { type Quotas, requireWithinQuota } from '../quotas.ts'
import type { OidcProvider } from './provider-clients.ts'

/** The role mappings of a stored provider. */
export const mappingsOf = ({ roleMappings }: Pick<OidcProvider, 'roleMappings'>): readonly RoleMapping[] =>
  roleMappings as RoleMapping[]

/** The role of each mapped project for someone in `groups`; undefined where no mapping matches. */
export const mappedRoles = (
  mappings: readonly RoleMapping[],
  groups: readonly string[],
): ReadonlyMap<string, ProjectRole | undefined> => {
  const roles = new Map<string, ProjectRole | undefined>()
  for (const { projectId, group, role } of mappings) {
    const known = roles.get(projectId)
    const matches = group === null || groups.includes(group)
    roles.set(projectId, matches ? (known ? strongerRole(known, role) : role) : known)
  }
  return roles
}

/**
 * Gives a user the roles of a provider's mappings. Where no mapping matches, a membership to which the provider has given a
 * role ends.
 * The last owner of a project stays its owner.
 * @returns the projects whose membership changed
 * @throws AppError unprocessable when a project would have too many members
 */
export const applyMappings = async (
  tx: Prisma.TransactionClient,
  { id: providerId, tenantId, roleMappings }: OidcProvider,
  userId: string,
  groups: readonly string[],
  { now, quotas }: { now: number; quotas: Quotas },
): Promise<string[]> => {
  const changed: string[] = []
  const roles = mappedRoles(mappingsOf({ roleMappings }), groups)
  // In one order, so that two sign-ins cannot deadlock.
  for (const projectId of [...roles.keys()].toSorted()) {
    await lockProjectMembers(tx, projectId)
    // A project of another tenant, or an archived one, has no mapping.
    const project = await tx.project.findFirst({ where: { id: projectId, tenantId, archivedAt: null } })
    if (!project) continue
    const role = roles.get(projectId)
    const key = { projectId_userId: { projectId, userId } }
    const member = await tx.projectMember.findUnique({ where: key, include: { user: true } })
    if (!member) {
      if (!role) continue
      const members = await tx.projectMember.count({ where: { projectId } })
      requireWithinQuota(quotas, 'members', members + 1)
      await tx.projectMember.create({ data: { projectId, userId, role, providerId } })
    } else {
      if (role === member.role || (!role && member.providerId !== providerId)) {
        if (role) await tx.projectMember.update({ where: key, data: { providerId } })
        continue
      }
      if (member.role === 'owner' && !(await hasOtherOwner(tx, member))) continue
      if (role) {
        if (strongerRole(role, roleOf(member.role)) !== role) await revokeInvitations(tx, member, now)
        await revokeKeysOf(tx, member, now, role)
        await tx.projectMember.update({ where: key, data: { role, providerId } })
      } else {
        await revokeKeysOf(tx, member, now)
        await removeFrom(tx, member, now)
      }
    }
    changed.push(projectId)
  }
  return changed
}

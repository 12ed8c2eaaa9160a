import { type ProjectRole, projectRoles } from '@waymark/contracts/project-role'
import type { Prisma } from '@waymark/database'
import type { Platform } from '@waymark/service-kit'
import type { Session } from './session-queries.ts'
import { findTenants, type TenantOfUser } from './tenant-queries.ts'

/** The role in a stored row. @throws Error when the database holds another text, which its constraint refuses */
export const roleOf = (text: string): ProjectRole => {
  const role = projectRoles.find((known) => known === text)
  if (!role) throw new Error('a member has a role that does not exist')
  return role
}

/** The condition that the project of a membership is one of `projectIds`; null for all. */
export const withinProjects = (projectIds: Session['projectIds']) =>
  projectIds === null ? {} : { projectId: { in: [...projectIds] } }

/** A tenant as shown to its users. */
export const tenantView = ({ id, name, requiresSecondFactor, createdAt }: Omit<TenantOfUser, 'owned'>) => ({
  id,
  name,
  requiresSecondFactor,
  createdAt,
})

/** An account as shown to its user, with its projects or those in `projectIds`. */
export const readAccount = async (
  { prisma }: Platform['db'],
  { id, email, name, emailVerifiedAt, hasSecondFactor, meetsSecondFactor, createdAt }: Session['user'],
  projectIds: Session['projectIds'] = null,
) => {
  const [tenants, members] = await Promise.all([
    findTenants(prisma, id, projectIds),
    prisma.projectMember.findMany({
      where: { userId: id, project: { archivedAt: null }, ...withinProjects(projectIds) },
      include: { project: true },
      orderBy: { projectId: 'asc' },
    }),
  ])
  const [tenant] = tenants
  const closing = new Set(tenants.filter((one) => one.requiresSecondFactor).map((one) => one.id))
  return {
    user: { id, email, name, emailVerifiedAt, hasSecondFactor, createdAt },
    tenant: tenant ? tenantView(tenant) : null,
    projects: members.map(({ role, project }) => projectView(project, roleOf(role))),
    closedProjectIds: members
      .filter(({ project }) => !meetsSecondFactor && closing.has(project.tenantId))
      .map(({ projectId }) => projectId),
  }
}

type Project = Prisma.ProjectGetPayload<object>

/** A project as shown to its members. */
export const projectView = ({ id, tenantId, name, createdAt }: Project, role: ProjectRole | null) => ({
  id,
  tenantId,
  name,
  role,
  createdAt,
})

import { listUsers } from '@waymark/contracts/http/tenants'
import { roleAllows } from '@waymark/domain/account'
import type { Route } from '@waymark/service-kit'
import type { Caller } from '../http/account-route.ts'
import { pageOf } from '../http/page.ts'
import { findRole, lacksRole } from '../http/project-route.ts'
import { requireFound } from '../http/validation.ts'
import type { ManagementDeps } from '../management-deps.ts'
import { roleOf, withinProjects } from './read-account.ts'
import { hasSetUp } from './second-factors.ts'
import { coversProject } from './session-queries.ts'

/** The members of the projects that the caller administers. */
export const userRoutes = ({ accountRoutes, db }: ManagementDeps): Route[] => {
  const administered = async (caller: Caller, wanted: string | undefined): Promise<string[]> => {
    if (caller.kind === 'key')
      return [requireFound(wanted === undefined || wanted === caller.projectId ? caller.projectId : null)]
    const { user, projectIds } = caller.session
    if (wanted !== undefined) {
      const role = requireFound(
        (coversProject(caller.session, wanted) && (await findRole(db, wanted, user))) || null,
      )
      if (!roleAllows(role, 'admin')) throw lacksRole('admin')
      return [wanted]
    }
    const members = await db.prisma.projectMember.findMany({
      where: {
        userId: user.id,
        role: { in: ['admin', 'owner'] },
        project: {
          archivedAt: null,
          ...(!user.meetsSecondFactor && { tenant: { requiresSecondFactor: false } }),
        },
        ...withinProjects(projectIds),
      },
    })
    if (members.length === 0) throw lacksRole('admin')
    return members.map(({ projectId }) => projectId)
  }

  return [
    accountRoutes.signedInOrKey(listUsers, async ({ caller, query }) => {
      const projectId = { in: await administered(caller, query.projectId) }
      return {
        body: await pageOf(
          query,
          (page) =>
            db.prisma.user.findMany({
              ...page({ memberships: { some: { projectId } } }),
              include: {
                secondFactor: { select: { setUpAt: true } },
                memberships: {
                  where: { projectId },
                  include: { project: true },
                  orderBy: { projectId: 'asc' },
                },
              },
            }),
          ({ id, email, name, emailVerifiedAt, secondFactor, createdAt, memberships }) => ({
            id,
            email,
            name,
            emailVerifiedAt,
            hasSecondFactor: hasSetUp(secondFactor),
            createdAt,
            projects: memberships.map(({ role, project }) => ({
              id: project.id,
              name: project.name,
              role: roleOf(role),
            })),
          }),
        ),
      }
    }),
  ]
}

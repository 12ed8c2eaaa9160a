import { listUsers } from '@waymark/contracts'
import { roleAllows } from '@waymark/domain'
import type { Platform, Route } from '@waymark/service-kit'
import type { AccountRoutes, Caller } from '../http/account-route.ts'
import { pageOf } from '../http/page.ts'
import { findRole, lacksRole } from '../http/project-route.ts'
import { requireFound } from '../http/validation.ts'
import { roleOf } from './read-account.ts'

type Deps = Pick<Platform, 'db'> & { accountRoutes: AccountRoutes }

/** Everybody who is in the projects that the caller administers. */
export const userRoutes = ({ accountRoutes, db }: Deps): Route[] => {
  const administered = async (caller: Caller, wanted: string | undefined): Promise<string[]> => {
    if (caller.kind === 'key')
      return [requireFound(wanted === undefined || wanted === caller.projectId ? caller.projectId : null)]
    const userId = caller.session.user.id
    if (wanted !== undefined) {
      const role = requireFound(await findRole(db, wanted, userId))
      if (!roleAllows(role, 'admin')) throw lacksRole('admin')
      return [wanted]
    }
    const members = await db.prisma.projectMember.findMany({
      where: { userId, role: { in: ['admin', 'owner'] }, project: { archivedAt: null } },
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
          (where, take) =>
            db.prisma.user.findMany({
              where: { memberships: { some: { projectId } }, ...where },
              include: {
                memberships: {
                  where: { projectId },
                  include: { project: true },
                  orderBy: { projectId: 'asc' },
                },
              },
              orderBy: { id: 'desc' },
              take,
            }),
          ({ id, email, name, createdAt, memberships }) => ({
            id,
            email,
            name,
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

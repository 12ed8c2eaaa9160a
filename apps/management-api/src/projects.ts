import { archiveProject, createProject, getProject, listProjects, updateProject } from '@waymark/contracts'
import type { Prisma } from '@waymark/database'
import type { Platform, Route } from '@waymark/service-kit'
import { v7 as uuidv7 } from 'uuid'
import type { AccountRoutes } from './account-route.ts'
import type { AuditLog } from './audit-log.ts'
import { createTenant } from './create-account.ts'
import { pageOf } from './page.ts'
import { type Actor, lacksRole, type ProjectRouteFactory } from './project-route.ts'
import { findTenants, projectView, roleOf } from './read-account.ts'
import { requireFound } from './validation.ts'

type Deps = Pick<Platform, 'db' | 'clock'> & {
  projectRoute: ProjectRouteFactory
  accountRoutes: AccountRoutes
  auditLog: AuditLog
}

/** Projects: what owns events, keys and everything else. */
export const projectRoutes = ({ projectRoute, accountRoutes, auditLog, db, clock }: Deps): Route[] => [
  accountRoutes.signedIn(createProject, async ({ session, body, client }) => {
    const { user } = session
    const project = await db.prisma.$transaction(async (tx) => {
      // Two first projects at once must not make two tenants.
      await tx.$queryRaw`SELECT 1 FROM core.users WHERE id = ${user.id}::uuid FOR NO KEY UPDATE`
      const tenants = await findTenants(tx, user.id)
      const wanted = body.tenantId ?? tenants.find(({ owned }) => owned)?.id
      if (wanted === undefined) return createTenant(tx, user.id, user.name, body.name)
      const tenant = requireFound(tenants.find(({ id }) => id === wanted))
      if (!tenant.owned) throw lacksRole('owner')
      return tx.project.create({
        data: {
          id: uuidv7(),
          name: body.name,
          tenantId: tenant.id,
          members: { create: { userId: user.id, role: 'owner' } },
        },
      })
    })
    const actor = { kind: 'user' as const, id: user.id }
    await auditLog.record(project.id, {
      actor,
      operation: createProject.id,
      resourceId: project.id,
      body,
      client,
    })
    return { status: 201, body: projectView(project, 'owner') }
  }),

  accountRoutes.signedIn(listProjects, async ({ session, query }) => ({
    body: await pageOf(
      query,
      (where, take) =>
        db.prisma.project.findMany({
          where: { archivedAt: null, members: { some: { userId: session.user.id } }, ...where },
          include: { members: { where: { userId: session.user.id } } },
          orderBy: { id: 'desc' },
          take,
        }),
      ({ members, ...project }) => projectView(project, roleOf(members[0]?.role ?? '')),
    ),
  })),

  projectRoute(getProject, async ({ projectId, actor }) => {
    const project = await db.prisma.project.findFirst({ where: { id: projectId, archivedAt: null } })
    return { body: projectView(requireFound(project), roleAs(actor)) }
  }),

  projectRoute(updateProject, async ({ projectId, actor, body: { name }, requireMatch }) =>
    db.prisma.$transaction(async (tx) => {
      requireMatch(projectView(await lockProject(tx, projectId), roleAs(actor)))
      const project = await tx.project.update({
        where: { id: projectId },
        data: name === undefined ? {} : { name },
      })
      return { body: projectView(project, roleAs(actor)) }
    }),
  ),

  projectRoute(archiveProject, async ({ projectId, actor, requireMatch }) => {
    await db.prisma.$transaction(async (tx) => {
      requireMatch(projectView(await lockProject(tx, projectId), roleAs(actor)))
      await tx.project.update({
        where: { id: projectId },
        data: { archivedAt: new Date(clock()), version: { increment: 1 } },
      })
      await tx.configChange.create({ data: { projectId } })
    })
    return { status: 204 }
  }),
]

/** The project, which nobody else changes until the transaction ends. */
const lockProject = async (tx: Prisma.TransactionClient, id: string) => {
  await tx.$queryRaw`SELECT 1 FROM core.projects WHERE id = ${id}::uuid FOR UPDATE`
  return requireFound(await tx.project.findFirst({ where: { id, archivedAt: null } }))
}

const roleAs = (actor: Actor) => (actor.kind === 'user' ? actor.role : null)

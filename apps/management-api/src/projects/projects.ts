import { AppError } from '@waymark/contracts/app-error'
import {
  archiveProject,
  createProject,
  getProject,
  listProjects,
  updateProject,
} from '@waymark/contracts/http/projects'
import type { Prisma } from '@waymark/database'
import type { Route } from '@waymark/service-kit'
import { v7 as uuidv7 } from 'uuid'
import { createTenant } from '../accounts/create-account.ts'
import { projectView, roleOf, withinProjects } from '../accounts/read-account.ts'
import { actorOf } from '../accounts/session-queries.ts'
import { findTenants } from '../accounts/tenant-queries.ts'
import { pageOf } from '../http/page.ts'
import { type Actor, lacksRole } from '../http/project-route.ts'
import { secondFactorRequired } from '../http/reauthentication.ts'
import { requireFound } from '../http/validation.ts'
import { lockRow } from '../lock-queries.ts'
import type { ManagementDeps } from '../management-deps.ts'
import { lockQuota, requireWithinQuota } from '../quotas.ts'

/** The projects of a user. */
export const projectRoutes = ({
  projectRoute,
  accountRoutes,
  auditLog,
  db,
  clock,
  quotas,
}: ManagementDeps): Route[] => [
  accountRoutes.signedIn(createProject, async ({ session, body, client }) => {
    const { user } = session
    if (session.kind === 'access-token' && session.projectIds !== null)
      throw new AppError('forbidden', 'This access token is limited to projects and cannot create one')
    const project = await db.prisma.$transaction(async (tx) => {
      // Two concurrent first projects must not create two tenants.
      await lockRow(tx, 'core.users', user.id, 'NO KEY UPDATE')
      const tenants = await findTenants(tx, user.id, session.projectIds)
      const wanted = body.tenantId ?? tenants.find(({ owned }) => owned)?.id
      // A provider's session stays in the tenant of the provider.
      if (wanted === undefined && session.identityId !== null) throw lacksRole('owner')
      if (wanted === undefined) return createTenant(tx, user.id, user.name, body.name)
      const tenant = requireFound(tenants.find(({ id }) => id === wanted))
      if (!tenant.owned) throw lacksRole('owner')
      if (tenant.requiresSecondFactor && !user.meetsSecondFactor) throw secondFactorRequired()
      await lockQuota(tx, tenant.id, 'projects')
      const projects = await tx.project.count({ where: { tenantId: tenant.id } })
      requireWithinQuota(quotas, 'projects', projects + 1)
      return tx.project.create({
        data: {
          id: uuidv7(),
          name: body.name,
          tenantId: tenant.id,
          members: { create: { userId: user.id, role: 'owner' } },
        },
      })
    })
    await auditLog.record(project.id, {
      actor: actorOf(session),
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
      (page) =>
        db.prisma.project.findMany({
          ...page({
            archivedAt: null,
            members: { some: { userId: session.user.id, ...withinProjects(session.projectIds) } },
          }),
          include: { members: { where: { userId: session.user.id } } },
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

/** Reads a project and locks it until the transaction ends. */
const lockProject = async (tx: Prisma.TransactionClient, id: string) => {
  await lockRow(tx, 'core.projects', id)
  return requireFound(await tx.project.findFirst({ where: { id, archivedAt: null } }))
}

const roleAs = (actor: Actor) => (actor.kind === 'user' ? actor.role : null)

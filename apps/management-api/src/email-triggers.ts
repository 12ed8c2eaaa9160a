import {
  archiveEmailTrigger,
  createEmailTrigger,
  getEmailTrigger,
  getEmailTriggerStats,
  listEmailTriggers,
  updateEmailTrigger,
} from '@waymark/contracts'
import { Prisma } from '@waymark/database'
import { parseMailbox, requireUsableLogic, requireUsableTemplates } from '@waymark/domain'
import type { Platform, Route } from '@waymark/service-kit'
import { v7 as uuidv7 } from 'uuid'
import { countDeliveries } from './email-deliveries.ts'
import { pageOf } from './page.ts'
import type { ProjectRequest, ProjectRouteFactory } from './project-route.ts'
import { requireFound, requireId, unprocessable } from './validation.ts'

type Trigger = Prisma.EmailTriggerGetPayload<object>
type Deps = Pick<Platform, 'db' | 'clock'> & { projectRoute: ProjectRouteFactory }

/** Which events send an email, and what it says. */
export const emailTriggerRoutes = ({ projectRoute, db, clock }: Deps): Route[] => {
  const find = async (projectId: string, id: string): Promise<Trigger> =>
    requireFound(await db.prisma.emailTrigger.findFirst({ where: { id: requireId(id), projectId } }))

  const update = (
    { projectId, id, requireMatch }: Pick<ProjectRequest, 'projectId' | 'id' | 'requireMatch'>,
    change: Prisma.EmailTriggerUpdateInput,
  ): Promise<Trigger> =>
    db.prisma.$transaction(async (tx) => {
      await tx.$queryRaw`SELECT 1 FROM email.triggers WHERE id = ${requireId(id)}::uuid FOR UPDATE`
      const found = requireFound(await tx.emailTrigger.findFirst({ where: { id, projectId } }))
      requireMatch(view(found))
      const { status } = found
      if (status === 'archived')
        throw unprocessable('status', 'archived', 'an archived trigger stays as it is')
      const activated = change.status === 'active' && status !== 'active'
      await tx.configChange.create({ data: { projectId } })
      const now = new Date(clock())
      return tx.emailTrigger.update({
        where: { id },
        data: {
          ...change,
          ...(activated && { activatedAt: now }),
          version: { increment: 1 },
          updatedAt: now,
        },
      })
    })

  return [
    projectRoute(createEmailTrigger, async ({ projectId, body }) => {
      const { filter = null, from = null, cooldownSeconds = 0, status = 'draft', ...rest } = body
      if (status === 'archived') throw unprocessable('status', 'enum', 'a new trigger cannot be archived')
      await requireUsable({ ...rest, filter, from })
      const [trigger] = await db.prisma.$transaction([
        db.prisma.emailTrigger.create({
          data: {
            id: uuidv7(),
            projectId,
            ...rest,
            filter: jsonOrNull(filter),
            from,
            cooldownSeconds,
            status,
            activatedAt: status === 'active' ? new Date(clock()) : null,
          },
        }),
        db.prisma.configChange.create({ data: { projectId } }),
      ])
      return { status: 201, body: view(trigger) }
    }),
    projectRoute(listEmailTriggers, async ({ projectId, query }) => ({
      body: await pageOf(
        query,
        (where, take) =>
          db.prisma.emailTrigger.findMany({
            where: { projectId, status: query.status ?? { not: 'archived' }, ...where },
            orderBy: { id: 'desc' },
            take,
          }),
        view,
      ),
    })),
    projectRoute(getEmailTrigger, async ({ projectId, id }) => ({ body: view(await find(projectId, id)) })),
    projectRoute(updateEmailTrigger, async (request) => {
      const { projectId, id, body } = request
      const { filter, ...change } = body
      await requireUsable({
        ...(await find(projectId, id)),
        ...change,
        ...(filter !== undefined && { filter }),
      })
      const data = { ...change, ...(filter !== undefined && { filter: jsonOrNull(filter) }) }
      return { body: view(await update(request, data)) }
    }),
    projectRoute(archiveEmailTrigger, async (request) => {
      const found = await find(request.projectId, request.id)
      if (found.status === 'archived') request.requireMatch(view(found))
      else await update(request, { status: 'archived' })
      return { status: 204 }
    }),
    projectRoute(getEmailTriggerStats, async ({ projectId, id }) => {
      const { id: triggerId } = await find(projectId, id)
      return { body: { triggerId, counts: await countDeliveries(db, triggerId) } }
    }),
  ]
}

type Checked = { filter: unknown; from: string | null; subject: string; html: string }

const requireUsable = async ({ filter, from, subject, html }: Checked): Promise<void> => {
  if (filter !== null) requireUsableLogic(filter)
  if (from !== null && !parseMailbox(from))
    throw unprocessable('from', 'mailbox', 'must be an address such as Shop <hello@shop.example>')
  await requireUsableTemplates({ subject, html })
}

const jsonOrNull = (filter: unknown) => (filter === null ? Prisma.DbNull : (filter as Prisma.InputJsonValue))

const view = ({ projectId: _projectId, ...trigger }: Trigger) => trigger

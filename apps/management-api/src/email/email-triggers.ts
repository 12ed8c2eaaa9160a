import {
  archiveEmailTrigger,
  createEmailTrigger,
  EmailTriggerView,
  getEmailTrigger,
  getEmailTriggerStats,
  listEmailTriggers,
  updateEmailTrigger,
} from '@waymark/contracts/http/email-triggers'
import { pick } from '@waymark/contracts/http/pick'
import { Prisma } from '@waymark/database'
import { parseMailbox } from '@waymark/domain/email'
import { extendDeadlineDuring, type HttpRequest, type Route } from '@waymark/service-kit'
import { v7 as uuidv7 } from 'uuid'
import { pageOf } from '../http/page.ts'
import type { ProjectRequest } from '../http/project-route.ts'
import { requireFound, requireId, requireUsableFilter, unprocessable } from '../http/validation.ts'
import { lockRow } from '../lock-queries.ts'
import type { ManagementDeps } from '../management-deps.ts'
import { lockQuota, requireConfigurationFits, requireWithinQuota } from '../quotas.ts'
import { countDeliveries } from './email-deliveries.ts'
import { requireUsableTemplates } from './email-templates.ts'

type Trigger = Prisma.EmailTriggerGetPayload<object>
/** How much a check of templates extends the deadline, in ms: its thread may have to start. */
const TEMPLATE_CHECK_MS = 10_000

/** A project's email triggers. */
export const emailTriggerRoutes = ({
  projectRoute,
  db,
  clock,
  messages,
  quotas,
  isAllowedSender,
}: ManagementDeps): Route[] => {
  const requireAllowedSender = async (projectId: string, from: string | null): Promise<void> => {
    if (from === null || (await isAllowedSender(projectId, from))) return
    throw unprocessable(
      'from',
      'sender',
      `${parseMailbox(from)?.address} is no sender of this project: verify the address or its domain with ` +
        'POST email-senders, or ask the operator of this deployment to add it to MAIL_ALLOWED_SENDERS',
    )
  }

  const find = async (projectId: string, id: string): Promise<Trigger> =>
    requireFound(await db.prisma.emailTrigger.findFirst({ where: { id: requireId(id), projectId } }))

  const update = (
    { projectId, id, requireMatch }: Pick<ProjectRequest, 'projectId' | 'id' | 'requireMatch'>,
    change: Prisma.EmailTriggerUpdateInput,
  ): Promise<Trigger> =>
    db.prisma.$transaction(async (tx) => {
      await lockRow(tx, 'email.triggers', id)
      const found = requireFound(await tx.emailTrigger.findFirst({ where: { id, projectId } }))
      requireMatch(view(found))
      const { status } = found
      if (status === 'archived')
        throw unprocessable('status', 'archived', 'of an archived trigger cannot change')
      const activated = change.status === 'active' && status !== 'active'
      await tx.configChange.create({ data: { projectId } })
      const now = new Date(clock())
      const updated = await tx.emailTrigger.update({
        where: { id },
        data: {
          ...change,
          ...(activated && { activatedAt: now }),
          version: { increment: 1 },
          updatedAt: now,
        },
      })
      if (change.filter !== undefined) await requireConfigurationFits(tx, projectId, quotas)
      return updated
    })

  const requireUsable = async (
    request: HttpRequest,
    projectId: string,
    { filter, from, subject, html }: Checked,
  ): Promise<void> => {
    if (filter !== null) requireUsableFilter(filter)
    if (from !== null && !parseMailbox(from))
      throw unprocessable('from', 'mailbox', 'must be an address such as Shop <hello@shop.example>', from)
    const check = requireUsableTemplates(messages, projectId, { subject, html })
    await extendDeadlineDuring(request, TEMPLATE_CHECK_MS, check)
  }

  return [
    projectRoute(createEmailTrigger, async ({ projectId, body, request }) => {
      const { filter = null, from = null, cooldownSeconds = 0, status = 'draft', ...rest } = body
      if (status === 'archived') throw unprocessable('status', 'enum', 'a new trigger cannot be archived')
      await requireUsable(request, projectId, { ...rest, filter, from })
      await requireAllowedSender(projectId, from)
      const trigger = await db.prisma.$transaction(async (tx) => {
        await lockQuota(tx, projectId, 'emailTriggers')
        const kept = await tx.emailTrigger.count({ where: { projectId, status: { not: 'archived' } } })
        requireWithinQuota(quotas, 'emailTriggers', kept + 1)
        await tx.configChange.create({ data: { projectId } })
        const created = await tx.emailTrigger.create({
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
        })
        await requireConfigurationFits(tx, projectId, quotas)
        return created
      })
      return { status: 201, body: view(trigger) }
    }),
    projectRoute(listEmailTriggers, async ({ projectId, query }) => ({
      body: await pageOf(
        query,
        (page) =>
          db.prisma.emailTrigger.findMany(page({ projectId, status: query.status ?? { not: 'archived' } })),
        view,
      ),
    })),
    projectRoute(getEmailTrigger, async ({ projectId, id }) => ({ body: view(await find(projectId, id)) })),
    projectRoute(updateEmailTrigger, async (request) => {
      const { projectId, id, body } = request
      const { filter, ...change } = body
      const changed = {
        ...(await find(projectId, id)),
        ...change,
        ...(filter !== undefined && { filter }),
      }
      await requireUsable(request.request, projectId, changed)
      // A trigger can be paused although its sender is no longer allowed.
      if (change.from !== undefined || change.status === 'active')
        await requireAllowedSender(projectId, changed.from)
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

const jsonOrNull = (filter: unknown) => (filter === null ? Prisma.DbNull : (filter as Prisma.InputJsonValue))

const view = (trigger: Trigger) => pick(trigger, EmailTriggerView)

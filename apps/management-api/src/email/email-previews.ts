import { isEmailAddress } from '@waymark/contracts/email-address'
import {
  type EmailTriggerSample,
  previewEmail,
  previewEmailTrigger,
  testEmailTrigger,
} from '@waymark/contracts/http/email-triggers'
import type { Prisma } from '@waymark/database'
import { comparableAddress, type MessageTemplates } from '@waymark/domain/email'
import type { Route } from '@waymark/service-kit'
import { v7 as uuidv7 } from 'uuid'
import { requireAllowed } from '../http/require-allowed.ts'
import { requireFound, requireId, unprocessable } from '../http/validation.ts'
import type { ManagementDeps } from '../management-deps.ts'
import { deliveryView } from './email-deliveries.ts'
import { renderPreview } from './email-templates.ts'

/** Test emails of a project per minute. */
const TESTS_PER_MINUTE = 10
/** The unsubscribe link of a preview, which leads nowhere. */
const NO_LINK = '#unsubscribe'
/** The traits of a test email when the request has none. */
const SAMPLE_TRAITS = { name: 'Ada Lovelace', phone: '+15550100', locale: 'en', timezone: 'UTC' }

/** Previews and test emails. */
export const emailPreviewRoutes = ({
  projectRoute,
  db,
  clock,
  rateLimiter,
  messages,
}: ManagementDeps): Route[] => {
  const find = async (projectId: string, id: string) =>
    requireFound(await db.prisma.emailTrigger.findFirst({ where: { id: requireId(id), projectId } }))

  const preview = async (
    projectId: string,
    templates: MessageTemplates,
    context: ReturnType<typeof contextOf>,
  ) => {
    const project = requireFound(await db.prisma.project.findUnique({ where: { id: projectId } }))
    return renderPreview(messages, projectId, templates, {
      ...context,
      project: { id: projectId, name: project.name },
      unsubscribeUrl: NO_LINK,
    })
  }

  const contextOf = (eventName: string, { traits, properties }: EmailTriggerSample) => {
    const now = new Date(clock()).toISOString()
    return {
      traits: traits ?? {},
      event: {
        eventId: uuidv7(),
        eventName,
        visitorId: 'visitor-1',
        userId: 'user-1',
        sessionId: null,
        properties: properties ?? {},
        receivedAt: now,
        timestamp: now,
        clickIds: {},
        context: {},
      },
      profile: { id: uuidv7(), userId: 'user-1' },
    }
  }

  /** @throws AppError unprocessable unless the address is that of a member, because anyone may be sent anything otherwise */
  const requireMember = async (projectId: string, to: string): Promise<void> => {
    if (!isEmailAddress(to)) throw unprocessable('to', 'email', 'must be an email address', to)
    const user = { email: comparableAddress(to) }
    if (await db.prisma.projectMember.findFirst({ where: { projectId, user } })) return
    throw unprocessable('to', 'member', 'must be the address of a member of the project', to)
  }

  return [
    projectRoute(previewEmail, async ({ projectId, body: { subject, html, ...sample } }) => ({
      body: await preview(projectId, { subject, html }, contextOf('event', sample)),
    })),
    projectRoute(previewEmailTrigger, async ({ projectId, id, body: sample }) => {
      const trigger = await find(projectId, id)
      return { body: await preview(projectId, trigger, contextOf(trigger.eventName, sample)) }
    }),
    projectRoute(testEmailTrigger, async ({ projectId, id, body: { to, ...sample } }) => {
      const trigger = await find(projectId, id)
      await requireMember(projectId, to)
      await requireAllowed(rateLimiter, {
        bucket: 'email-test',
        key: projectId,
        limit: TESTS_PER_MINUTE,
        windowMs: 60_000,
        message: 'Too many requests',
      })
      const context = contextOf(trigger.eventName, {
        ...sample,
        traits: { email: to, ...(sample.traits ?? SAMPLE_TRAITS) },
      })
      const deliveryId = uuidv7()
      const delivery = await db.prisma.emailDelivery.create({
        data: {
          id: deliveryId,
          projectId,
          triggerId: trigger.id,
          eventKey: deliveryId,
          eventId: context.event.eventId,
          recipient: to,
          test: true,
          status: 'pending',
          nextAttemptAt: new Date(clock()),
          context: context as unknown as Prisma.InputJsonObject,
        },
      })
      return { status: 202, body: deliveryView(delivery) }
    }),
  ]
}

import {
  AppError,
  type EmailTriggerSample,
  previewEmail,
  previewEmailTrigger,
  testEmailTrigger,
} from '@waymark/contracts'
import type { Prisma } from '@waymark/database'
import { isEmailAddress, type MessageTemplates } from '@waymark/domain'
import type { Platform, Route } from '@waymark/service-kit'
import { v7 as uuidv7 } from 'uuid'
import type { ProjectRouteFactory } from '../http/project-route.ts'
import { requireFound, requireId, unprocessable } from '../http/validation.ts'
import { deliveryView } from './email-deliveries.ts'
import { renderPreview } from './email-templates.ts'

/** Test emails of a project per minute. */
const TESTS_PER_MINUTE = 10
/** Where the unsubscribe link of a preview leads: nowhere, since nobody has got the email. */
const NO_LINK = '#unsubscribe'
/** Whom an email is tried for when the request names no traits. */
const SAMPLE_TRAITS = { name: 'Ada Lovelace', phone: '+15550100', locale: 'en', timezone: 'UTC' }

type Deps = Pick<Platform, 'db' | 'clock' | 'rateLimiter' | 'messages'> & {
  projectRoute: ProjectRouteFactory
}

/** Trying an email: reading it, and getting it. */
export const emailPreviewRoutes = ({ projectRoute, db, clock, rateLimiter, messages }: Deps): Route[] => {
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
      if (!isEmailAddress(to)) throw unprocessable('to', 'email', 'must be an email address', to)
      await limit(rateLimiter, projectId)
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

const limit = async (limiter: Platform['rateLimiter'], projectId: string): Promise<void> => {
  const { allowed, resetMs } = await limiter.consume({
    bucket: 'email-test',
    key: projectId,
    limit: TESTS_PER_MINUTE,
    windowMs: 60_000,
  })
  const retryAfterSeconds = Math.max(1, Math.ceil(resetMs / 1000))
  if (!allowed) throw new AppError('rate_limited', 'Too many requests', { retryAfterSeconds })
}

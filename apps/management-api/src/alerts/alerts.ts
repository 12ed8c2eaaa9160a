import {
  type AlertCondition,
  type AlertInterval,
  type AlertMeasure,
  createAlert,
  deleteAlert,
  getAlert,
  listAlertHistory,
  listAlerts,
  muteAlert,
  unmuteAlert,
  updateAlert,
} from '@waymark/contracts/http/alerts'
import { maskedUrl } from '@waymark/contracts/masked-url'
import type { Prisma } from '@waymark/database'
import type { Route } from '@waymark/service-kit'
import { v7 as uuidv7 } from 'uuid'
import { lockInsights } from '../analytics/dashboard-queries.ts'
import { readTimeZone } from '../analytics/time-range.ts'
import { pageOf } from '../http/page.ts'
import { requireFound, requireFutureTime, requireId, unprocessable } from '../http/validation.ts'
import type { ManagementDeps } from '../management-deps.ts'
import { lockQuota, requireWithinQuota } from '../quotas.ts'
import { isUsableUrl } from '../webhooks/webhooks.ts'
import { type AlertRow, evaluationViewOf, lockAlert, versionOf, viewOf } from './alert-rows.ts'
import { planMeasure } from './measure-alert.ts'

/** Alerts on figures of a project. */
export const alertRoutes = ({ projectRoute, db, clock, quotas }: ManagementDeps): Route[] => {
  const find = async (projectId: string, id: string): Promise<AlertRow> =>
    requireFound(await db.prisma.alert.findFirst({ where: { id: requireId(id), projectId } }))

  return [
    projectRoute(createAlert, async ({ projectId, body, checkEffects }) => {
      const { name, measure, condition, interval, emailRoles = [], webhooks = true, slackUrl = null } = body
      requireUsableCondition(condition)
      const timeZone = readTimeZone(body.timeZone)
      requireUsableUrl(slackUrl)
      checkEffects({})
      const created = await db.prisma.$transaction(async (tx) => {
        await lockQuota(tx, projectId, 'alerts')
        requireWithinQuota(quotas, 'alerts', (await tx.alert.count({ where: { projectId } })) + 1)
        const watched = await requireUsableMeasure(tx, projectId, measure, interval)
        return tx.alert.create({
          data: {
            id: uuidv7(),
            projectId,
            name,
            ...watched,
            condition,
            interval,
            timeZone,
            emailRoles,
            webhooks,
            slackUrl,
            dueAt: new Date(clock()),
          },
        })
      })
      return reply(created, 201)
    }),

    projectRoute(listAlerts, async ({ projectId, query }) => ({
      body: await pageOf(query, (page) => db.prisma.alert.findMany(page({ projectId })), viewOf),
    })),

    projectRoute(getAlert, async ({ projectId, id }) => reply(await find(projectId, id))),

    projectRoute(updateAlert, async ({ projectId, id, requireMatch, checkEffects, body }) => {
      const { measure, slackUrl, timeZone, condition, ...rest } = body
      if (condition) requireUsableCondition(condition)
      const updated = await db.prisma.$transaction(async (tx) => {
        const found = await lockAlert(tx, projectId, id)
        requireMatch(versionOf(found))
        checkEffects(viewOf(found))
        const isKept =
          slackUrl !== undefined && found.slackUrl !== null && slackUrl === maskedUrl(found.slackUrl)
        if (!isKept) requireUsableUrl(slackUrl)
        const interval = rest.interval ?? (found.interval as AlertInterval)
        const zone = timeZone === undefined ? found.timeZone : readTimeZone(timeZone)
        const watched = measure && (await requireUsableMeasure(tx, projectId, measure, interval))
        const now = new Date(clock())
        return tx.alert.update({
          where: { id },
          data: {
            ...rest,
            ...(condition && { condition }),
            ...watched,
            timeZone: zone,
            ...(slackUrl !== undefined && !isKept && { slackUrl }),
            // The present interval is evaluated again, by the new rule. What was fired stays so until then.
            bucket: null,
            problem: null,
            dueAt: now,
            version: { increment: 1 },
            updatedAt: now,
          },
        })
      })
      return reply(updated)
    }),

    projectRoute(deleteAlert, async ({ projectId, id, requireMatch }) => {
      await db.prisma.$transaction(async (tx) => {
        requireMatch(versionOf(await lockAlert(tx, projectId, id)))
        await tx.alert.delete({ where: { id } })
      })
      return { status: 204 }
    }),

    projectRoute(muteAlert, async ({ projectId, id, body }) => {
      const until = requireFutureTime('until', body.until, clock())
      return reply(await mute(db.prisma, projectId, id, until))
    }),

    projectRoute(unmuteAlert, async ({ projectId, id }) => reply(await mute(db.prisma, projectId, id, null))),

    projectRoute(listAlertHistory, async ({ projectId, id, query: { changes = false, ...query } }) => {
      const { id: alertId } = await find(projectId, id)
      const where = { alertId, ...(changes && { change: { not: null } }) }
      return {
        body: await pageOf(
          query,
          (page) => db.prisma.alertEvaluation.findMany(page(where)),
          evaluationViewOf,
        ),
      }
    }),
  ]
}

const mute = (
  prisma: ManagementDeps['db']['prisma'],
  projectId: string,
  id: string,
  mutedUntil: Date | null,
): Promise<AlertRow> =>
  prisma.$transaction(async (tx) => {
    await lockAlert(tx, projectId, id)
    return tx.alert.update({ where: { id }, data: { mutedUntil } })
  })

const requireUsableCondition = ({ type, value, direction }: AlertCondition): void => {
  const field = 'condition.value'
  if (type === 'unusual') {
    if (value !== undefined) throw unprocessable(field, 'type', 'is not used with the type unusual', value)
    return
  }
  if (value === undefined) throw unprocessable(field, 'required', `is required with the type ${type}`)
  if (type === 'changedBy') {
    if (value <= 0) throw unprocessable(field, 'exclusiveMinimum', 'must be a percentage above 0', value)
    return
  }
  if (direction !== undefined)
    throw unprocessable(
      'condition.direction',
      'type',
      'is used only with the types changedBy and unusual',
      direction,
    )
}

const requireUsableUrl = (url: string | null | undefined): void => {
  if (typeof url === 'string' && (url.includes('#') || !isUsableUrl(url)))
    // It is not shown, because it is a secret.
    throw unprocessable(
      'slackUrl',
      'format',
      'must be the whole address, an http or https URL without user, password or fragment',
    )
}

/** What is stored of a measure. @throws AppError unprocessable that names the field at fault */
const requireUsableMeasure = async (
  tx: Prisma.TransactionClient,
  projectId: string,
  measure: AlertMeasure,
  interval: AlertInterval,
): Promise<{ insightId: string | null; measure: Prisma.InputJsonObject }> => {
  const { insightId = null, ...stored } = measure
  const [known] = insightId === null ? [] : await lockInsights(tx, projectId, [insightId])
  const insight = known === undefined ? null : await tx.insight.findUnique({ where: { id: known } })
  if (insightId !== null && insight === null)
    throw unprocessable(
      'measure.insightId',
      'reference',
      'must be the id of an insight of the project',
      insightId,
    )
  planMeasure({ measure, insight, interval })
  return { insightId: insight?.id ?? null, measure: stored as Prisma.InputJsonObject }
}

const reply = <Status extends 200 | 201 = 200>(alert: AlertRow, status?: Status) => ({
  ...(status !== undefined && { status }),
  body: viewOf(alert),
  version: versionOf(alert),
})

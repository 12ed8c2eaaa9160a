import { alertChanges } from '@waymark/contracts/topics'
import type { Prisma } from '@waymark/database'
import type { AlertVerdict } from '@waymark/domain/alert'
import { addToOutboxByPrisma } from '@waymark/pipeline'
import { v7 as uuidv7 } from 'uuid'
import { type AlertRow, conditionOf } from './alert-rows.ts'

/** The outbox lane of alerts, which keeps their order. */
const LANE = 'alerts'
/** Most people who get an email about an alert. */
const MAX_RECIPIENTS = 50

/** What an alert found in an interval, and when. */
export type Finding = Pick<AlertVerdict, 'expected' | 'deviation'> & {
  value: number | null
  /** The beginning of the interval, in ms since the epoch. */
  bucket: number
  at: number
}

/** Queues the messages that an alert began to fire, or that it ended, in the transaction that stores it. */
export const announce = async (
  tx: Prisma.TransactionClient,
  alert: AlertRow,
  change: 'fired' | 'resolved',
  { bucket, at, value, expected, deviation }: Finding,
  publicUrl: string,
): Promise<void> => {
  const { id: alertId, projectId, name, interval, slackUrl, emailRoles, webhooks } = alert
  const record = {
    v: 1 as const,
    id: uuidv7(),
    projectId,
    alertId,
    name,
    change,
    condition: conditionOf(alert),
    interval: interval as 'hour' | 'day',
    bucket: new Date(bucket).toISOString(),
    value,
    expected,
    deviation,
    at: new Date(at).toISOString(),
  }
  if (webhooks)
    await addToOutboxByPrisma(tx, LANE, alertChanges, [{ key: `${projectId}:${alertId}`, value: record }])
  const { name: project } = await tx.project.findUniqueOrThrow({
    where: { id: projectId },
    select: { name: true },
  })
  const address = `${publicUrl}/console/p/${projectId}/alerts/${alertId}`
  const { v: _v, id: _id, at: _at, projectId: _p, ...message } = { ...record, project, address }
  const members = await tx.projectMember.findMany({
    where: { projectId, role: { in: emailRoles } },
    select: { user: { select: { email: true } } },
    orderBy: { userId: 'asc' },
    take: MAX_RECIPIENTS,
  })
  const emails = members.map(({ user }) => ({ channel: 'email', recipient: user.email }))
  const slack = slackUrl === null ? [] : [{ channel: 'slack', recipient: slackUrl }]
  await tx.alertNotice.createMany({
    data: [...emails, ...slack].map((to) => ({ id: uuidv7(), alertId, ...to, message })),
  })
}

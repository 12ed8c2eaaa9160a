import { pick } from '@waymark/contracts/http/pick'
import { type SubscriptionFrequency, SubscriptionView } from '@waymark/contracts/http/subscriptions'
import type { Prisma } from '@waymark/database'
import type { ReportSchedule } from '@waymark/event-store'
import { requireFound } from '../http/validation.ts'
import { lockRow } from '../lock-queries.ts'

/** What a subscription is answered with beside its own columns. Reports are read without their messages. */
export const withLast = {
  recipients: { where: { unsubscribedAt: { not: null } }, select: { userId: true } },
  reports: {
    where: { isTest: false },
    select: {
      periodStart: true,
      periodEnd: true,
      createdAt: true,
      mails: {
        select: { status: true, reason: true, recipient: { select: { userId: true } } },
        orderBy: { id: 'asc' },
      },
    },
  },
} satisfies Prisma.SubscriptionInclude

/** A stored subscription. */
export type SubscriptionRow = Prisma.SubscriptionGetPayload<object>
type FullRow = Prisma.SubscriptionGetPayload<{ include: typeof withLast }>

export const scheduleOf = ({
  frequency,
  timeZone,
  hour,
}: Pick<SubscriptionRow, 'frequency' | 'timeZone' | 'hour'>): ReportSchedule => ({
  interval: frequency as SubscriptionFrequency,
  timeZone,
  hour,
})

/** Reads a subscription and locks it until the transaction ends. @throws AppError not_found */
export const lockSubscription = async (
  tx: Prisma.TransactionClient,
  projectId: string,
  id: string,
): Promise<SubscriptionRow> => {
  await lockRow(tx, 'core.subscriptions', id)
  return requireFound(await tx.subscription.findFirst({ where: { id, projectId } }))
}

export const viewOf = (row: FullRow) => {
  const [report] = row.reports
  return pick(
    {
      ...row,
      unsubscribedUserIds: row.recipients.map(({ userId }) => userId),
      nextAt: row.dueAt,
      last: report
        ? {
            ...report,
            mails: report.mails.map(({ status, reason, recipient }) => ({
              userId: recipient.userId,
              status,
              reason,
            })),
          }
        : null,
    },
    SubscriptionView,
  )
}

/** What the `ETag` is made of: what was sent is not a change. */
export const versionOf = ({ id, version }: Pick<SubscriptionRow, 'id' | 'version'>) => ({ id, version })

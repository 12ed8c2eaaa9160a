import { MAX_SUBSCRIPTION_RECIPIENTS, MAX_SUBSCRIPTION_TILES } from '@waymark/contracts/http/subscriptions'
import type { Prisma } from '@waymark/database'
import type { ReportMessage, ReportTile } from '@waymark/domain/subscription'
import { newestReportPeriod, type ReportPeriod } from '@waymark/event-store'
import { drain, everyMs, type Loop, type Platform } from '@waymark/service-kit'
import { Counter, Gauge } from 'prom-client'
import { v7 as uuidv7 } from 'uuid'
import type { RunQuery } from '../analytics/run-queries.ts'
import { readOldestDue } from '../due-queries.ts'
import { measureTile } from './measure-dashboard.ts'
import { addRecipients, dueSubscriptions, findDueSubscriptions } from './subscription-queries.ts'
import { scheduleOf } from './subscription-rows.ts'

const INTERVAL_MS = 5_000
const MEASURE_INTERVAL_MS = 15_000
/** Most subscriptions of one batch. */
const BATCH = 10
/** When a report counts as lost, because its process was killed. Longer than all queries of an email may take. */
const LEASE_MS = 10 * 60_000
/** From a failed attempt to the next one. */
const RETRY_MS = 5 * 60_000
/** After so many attempts, an email names the insights that could not be measured. */
const MAX_ATTEMPTS = 3

type ReportDeps = Pick<Platform, 'db' | 'clock' | 'log' | 'images'> & {
  runQuery: RunQuery
  /** Of the console, without a slash at the end. */
  publicUrl: string
  onReported?: (outcome: Outcome) => void
}

/** `sent`: its emails were queued; `empty`: nobody gets it; `failed`: it is tried again. */
const outcomes = ['sent', 'empty', 'failed'] as const
type Outcome = (typeof outcomes)[number]

/** Sends the reports of subscriptions. Every process does: a claim makes one of them measure a subscription. */
export const reportSubscriptions = (
  deps: Omit<ReportDeps, 'onReported'> & Pick<Platform, 'metrics'>,
): Loop[] => {
  const reports = new Counter({
    name: 'waymark_subscription_reports_total',
    help: 'Reports of the subscriptions of projects, by what became of them',
    labelNames: ['outcome'],
    registers: [deps.metrics],
  })
  // From the start, because Prometheus sees no increase in the first value of a series.
  for (const outcome of outcomes) reports.inc({ outcome }, 0)
  const oldestDue = new Gauge({
    name: 'waymark_subscription_oldest_due_seconds',
    help: 'How long the subscription of a project that has been due for the longest time waits',
    registers: [deps.metrics],
  })
  const onReported = (outcome: Outcome): void => reports.inc({ outcome })
  return [
    drain('subscriptions', INTERVAL_MS, (signal) => reportDueSubscriptions({ ...deps, onReported }, signal)),
    everyMs('subscription-metrics', MEASURE_INTERVAL_MS, async () => {
      oldestDue.set(await readOldestDue(deps.db.prisma, dueSubscriptions(), new Date(deps.clock())))
    }),
  ]
}

/**
 * Reports a batch of the subscriptions that are due, one after another.
 * @returns the number of subscriptions in the batch
 * @throws the first error, after the other subscriptions
 */
export const reportDueSubscriptions = async (deps: ReportDeps, signal: AbortSignal): Promise<number> => {
  const ids = await findDueSubscriptions(deps.db.prisma, new Date(deps.clock()), BATCH)
  const errors: unknown[] = []
  for (const id of ids) {
    if (signal.aborted) break
    await reportSubscription(deps, id, signal).catch((error) => errors.push(error))
  }
  if (errors.length > 0) throw errors[0]
  return ids.length
}

const claimed = {
  dashboard: true,
  project: { select: { name: true } },
} satisfies Prisma.SubscriptionInclude
type ClaimedSubscription = Prisma.SubscriptionGetPayload<{ include: typeof claimed }>

const reportSubscription = async (deps: ReportDeps, id: string, signal: AbortSignal): Promise<void> => {
  const { db, clock, onReported = () => {} } = deps
  const now = clock()
  const lease = new Date(now + LEASE_MS)
  const { count } = await db.prisma.subscription.updateMany({
    where: { id, dueAt: { lte: new Date(now) } },
    data: { dueAt: lease },
  })
  if (count === 0) return
  const subscription = await db.prisma.subscription.findUnique({ where: { id }, include: claimed })
  if (!subscription) return
  const putOff = async (dueAt: number, data: Prisma.SubscriptionUpdateManyMutationInput = {}) => {
    await db.prisma.subscription.updateMany({
      where: { id, dueAt: lease },
      data: { ...data, dueAt: new Date(dueAt) },
    })
  }
  try {
    // Of the periods since the last email, only the newest one is reported, also after a downtime.
    const period = newestReportPeriod(scheduleOf(subscription), now)
    const recipients = await findRecipients(db.prisma, subscription, period)
    if (recipients.regular.length + recipients.tests.length === 0) {
      const stored = await db.prisma.$transaction((tx) =>
        finish(tx, { subscription, lease, period, recipients }),
      )
      if (stored && isDue(subscription, period)) onReported('empty')
      return
    }
    const measured = await measureDashboard(deps, subscription, period, signal)
    const mayRetry = recipients.regular.length > 0 && subscription.attempts + 1 < MAX_ATTEMPTS
    if (measured.isWorthRetrying && mayRetry) {
      onReported('failed')
      return await putOff(clock() + RETRY_MS, {
        attempts: { increment: 1 },
        problem: 'Not all insights could be measured; they are tried again',
      })
    }
    const message = messageOf(subscription, period, measured, deps.publicUrl)
    if (await store(deps, { subscription, lease, period, recipients, message })) onReported('sent')
  } catch (error) {
    if (signal.aborted) return await putOff(now)
    onReported('failed')
    // An error that is not about the subscription is one of this installation, and nothing for its users to read.
    await putOff(clock() + RETRY_MS, { problem: 'An error of the server; it is tried again' })
    throw error
  }
}

const isDue = ({ sentUntil }: ClaimedSubscription, { to }: ReportPeriod): boolean => sentUntil.getTime() < to

/** Who gets the report of a period, and who asked for a test. */
type Recipients = { regular: string[]; tests: string[]; problem: string | null }

const findRecipients = async (
  prisma: Platform['db']['prisma'],
  subscription: ClaimedSubscription,
  period: ReportPeriod,
): Promise<Recipients> => {
  const { id: subscriptionId, projectId, emailRoles, userIds } = subscription
  const known = await prisma.subscriptionRecipient.findMany({
    where: { subscriptionId, OR: [{ unsubscribedAt: { not: null } }, { requestedAt: { not: null } }] },
  })
  const tests = known.filter(({ requestedAt }) => requestedAt !== null).map(({ userId }) => userId)
  if (!isDue(subscription, period)) return { regular: [], tests, problem: subscription.problem }
  const left = known.filter(({ unsubscribedAt }) => unsubscribedAt !== null).map(({ userId }) => userId)
  const where = {
    projectId,
    userId: { notIn: left },
    OR: [{ role: { in: emailRoles } }, { userId: { in: userIds } }],
  }
  const members = await prisma.projectMember.findMany({
    where,
    select: { userId: true },
    orderBy: { userId: 'asc' },
    take: MAX_SUBSCRIPTION_RECIPIENTS,
  })
  const all =
    members.length < MAX_SUBSCRIPTION_RECIPIENTS
      ? members.length
      : await prisma.projectMember.count({ where })
  const tooMany =
    all > members.length ? `Only ${members.length} of ${all} members got it, which is the limit` : null
  return {
    regular: members.map(({ userId }) => userId),
    tests,
    problem: members.length === 0 ? 'No member would get it' : tooMany,
  }
}

type Measured = { tiles: ReportTile[]; moreTiles: number; isWorthRetrying: boolean }

const measureDashboard = async (
  deps: ReportDeps,
  subscription: ClaimedSubscription,
  period: ReportPeriod,
  signal: AbortSignal,
): Promise<Measured> => {
  const { insightIds } = subscription.dashboard
  const shown = insightIds.slice(0, MAX_SUBSCRIPTION_TILES)
  const insights = await deps.db.prisma.insight.findMany({
    where: { projectId: subscription.projectId, id: { in: shown } },
  })
  const tiles: ReportTile[] = []
  let isWorthRetrying = false
  const schedule = scheduleOf(subscription)
  for (const id of shown) {
    const insight = insights.find((one) => one.id === id)
    if (!insight) continue
    const measured = await measureTile(deps, { insight, schedule, period }, signal)
    tiles.push(measured.tile)
    isWorthRetrying ||= measured.isWorthRetrying
  }
  return { tiles, moreTiles: insightIds.length - shown.length, isWorthRetrying }
}

const messageOf = (
  { name, dashboard, project, projectId, frequency, timeZone }: ClaimedSubscription,
  { from, to }: ReportPeriod,
  { tiles, moreTiles }: Measured,
  publicUrl: string,
): Omit<ReportMessage, 'isTest'> => ({
  subscription: name,
  dashboard: dashboard.name,
  project: project.name,
  frequency: frequency as ReportMessage['frequency'],
  timeZone,
  from: new Date(from).toISOString(),
  to: new Date(to).toISOString(),
  tiles,
  moreTiles,
  address: `${publicUrl}/console/p/${projectId}/dashboards/${dashboard.id}`,
})

type Finished = {
  subscription: ClaimedSubscription
  lease: Date
  period: ReportPeriod
  recipients: Recipients
}

/** Ends the claim. Resolves to false when the subscription was changed, or claimed by another process, meanwhile. */
const finish = async (
  tx: Prisma.TransactionClient,
  { subscription, lease, period, recipients: { problem } }: Finished,
): Promise<boolean> => {
  const { count } = await tx.subscription.updateMany({
    where: { id: subscription.id, dueAt: lease, version: subscription.version },
    data: {
      sentUntil: new Date(Math.max(period.to, subscription.sentUntil.getTime())),
      attempts: 0,
      problem,
      dueAt: new Date(period.nextDueAt),
    },
  })
  return count > 0
}

/** Stores a report with its emails in one transaction, so that each is sent once. */
const store = (
  { db, clock }: ReportDeps,
  { message, ...finished }: Finished & { message: Omit<ReportMessage, 'isTest'> },
): Promise<boolean> =>
  db.prisma.$transaction(async (tx) => {
    if (!(await finish(tx, finished))) return false
    const { subscription, recipients, period } = finished
    const { id: subscriptionId } = subscription
    const userIds = [...new Set([...recipients.regular, ...recipients.tests])]
    const found = await addRecipients(tx, { projectId: subscription.projectId, subscriptionId }, userIds)
    for (const [isTest, users] of [
      [false, new Set(recipients.regular)],
      [true, new Set(recipients.tests)],
    ] as const) {
      if (users.size === 0) continue
      // Emails of an earlier period that still wait are not sent any more.
      await tx.subscriptionReport.deleteMany({ where: { subscriptionId, isTest } })
      const id = uuidv7()
      await tx.subscriptionReport.create({
        data: {
          id,
          subscriptionId,
          isTest,
          periodStart: new Date(period.from),
          periodEnd: new Date(period.to),
          message: { ...message, isTest },
          createdAt: new Date(clock()),
        },
      })
      await tx.subscriptionMail.createMany({
        data: found
          .filter(({ userId }) => users.has(userId))
          .map(({ id: recipientId }) => ({ id: uuidv7(), reportId: id, recipientId })),
      })
    }
    await tx.subscriptionRecipient.updateMany({
      where: { subscriptionId, userId: { in: recipients.tests } },
      data: { requestedAt: null },
    })
    return true
  })

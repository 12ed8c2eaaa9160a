import { AppError } from '@waymark/contracts/app-error'
import { ALERT_HISTORY_DAYS, type AlertInterval, alertStates } from '@waymark/contracts/http/alerts'
import type { Prisma } from '@waymark/database'
import { type AlertReading, createSlotOf, judgeAlert, type SeriesPoint } from '@waymark/domain/alert'
import { bucketAfter, zonedBuckets } from '@waymark/event-store'
import { drain, everyMs, type Loop, type Platform } from '@waymark/service-kit'
import { Counter, Gauge } from 'prom-client'
import { v7 as uuidv7 } from 'uuid'
import type { RunQuery } from '../analytics/run-queries.ts'
import { untilStopped } from '../analytics/until-stopped.ts'
import { readOldestDue } from '../due-queries.ts'
import { announce, type Finding } from './alert-notices.ts'
import { dueAlerts, findDueAlerts } from './alert-queries.ts'
import { type AlertRow, conditionOf, measureOf } from './alert-rows.ts'
import { lengthOf, type MeasurePlan, planMeasure } from './measure-alert.ts'

const INTERVAL_MS = 5_000
const MEASURE_INTERVAL_MS = 15_000
/** Most alerts of one batch. */
const BATCH = 20
/** After the end of an interval, until its events are stored. */
export const SETTLE_MS = 5 * 60_000
/** When an evaluation counts as lost, because its process was killed. Longer than a query may take. */
const LEASE_MS = 5 * 60_000
/** From a failed evaluation to the next one. */
const RETRY_MS = 60_000
const DAY_MS = 24 * 3_600_000
/** The intervals that `unusual` compares with: four weeks of hours, twelve of days. */
const PAST: Record<AlertInterval, number> = { hour: 4 * 7 * 24, day: 12 * 7 }

type AlertDeps = Pick<Platform, 'db' | 'clock' | 'log'> & {
  runQuery: RunQuery
  /** Of the console, without a slash at the end. */
  publicUrl: string
  onEvaluated?: (outcome: Outcome) => void
}

/** What an evaluation found, or that it failed. */
const outcomes = [...alertStates, 'failed'] as const
type Outcome = (typeof outcomes)[number]

/** Evaluates alerts. Every process does: a claim makes one of them evaluate an alert. */
export const evaluateAlerts = (deps: Omit<AlertDeps, 'onEvaluated'> & Pick<Platform, 'metrics'>): Loop[] => {
  const evaluations = new Counter({
    name: 'waymark_alert_evaluations_total',
    help: 'Evaluations of the alerts of projects, by what they found',
    labelNames: ['state'],
    registers: [deps.metrics],
  })
  // From the start, because Prometheus sees no increase in the first value of a series.
  for (const state of outcomes) evaluations.inc({ state }, 0)
  const oldestDue = new Gauge({
    name: 'waymark_alert_oldest_due_seconds',
    help: 'How long the alert of a project that has been due for the longest time waits for its evaluation',
    registers: [deps.metrics],
  })
  const onEvaluated = (state: Outcome): void => evaluations.inc({ state })
  return [
    drain('alerts', INTERVAL_MS, (signal) => evaluateDueAlerts({ ...deps, onEvaluated }, signal)),
    everyMs('alert-metrics', MEASURE_INTERVAL_MS, async () => {
      oldestDue.set(await readOldestDue(deps.db.prisma, dueAlerts(), new Date(deps.clock())))
    }),
  ]
}

/**
 * Evaluates a batch of the alerts that are due, one after another. One that fails is evaluated again after a minute.
 * @returns the number of alerts in the batch
 * @throws the first error that is not about the alert itself, after the other alerts
 */
export const evaluateDueAlerts = async (deps: AlertDeps, signal: AbortSignal): Promise<number> => {
  const ids = await findDueAlerts(deps.db.prisma, new Date(deps.clock()), BATCH)
  const errors: unknown[] = []
  for (const id of ids) {
    if (signal.aborted) break
    await evaluateAlert(deps, id, signal).catch((error) => errors.push(error))
  }
  if (errors.length > 0) throw errors[0]
  return ids.length
}

type ClaimedAlert = Prisma.AlertGetPayload<{ include: { insight: true } }>

const evaluateAlert = async (deps: AlertDeps, id: string, signal: AbortSignal): Promise<void> => {
  const { db, clock, onEvaluated = () => {} } = deps
  const now = clock()
  const lease = new Date(now + LEASE_MS)
  const { count } = await db.prisma.alert.updateMany({
    where: { id, dueAt: { lte: new Date(now) } },
    data: { dueAt: lease },
  })
  if (count === 0) return
  const alert = await db.prisma.alert.findUnique({ where: { id }, include: { insight: true } })
  if (!alert) return
  try {
    const plan = planMeasure({
      measure: measureOf(alert),
      insight: alert.insight,
      interval: intervalOf(alert),
    })
    const bounds = newestBounds(alert, plan, now)
    const start = bounds.at(-2) ?? 0
    const nextDue =
      bucketAfter(intervalOf(alert), alert.timeZone, start, 2) + SETTLE_MS + plan.completeAfterMs
    if (alert.bucket !== null && alert.bucket.getTime() >= start) {
      // It was evaluated already: the time was set back, or a change of another kind made it due.
      await db.prisma.alert.updateMany({ where: { id, dueAt: lease }, data: { dueAt: new Date(nextDue) } })
      return
    }
    const reading = await readValues(deps, alert, plan, bounds, signal)
    const finding = { reading, bucket: start, nextDue }
    const state = await store(deps, alert, lease, finding)
    if (state !== undefined) onEvaluated(state)
  } catch (error) {
    if (signal.aborted) {
      await db.prisma.alert.updateMany({ where: { id, dueAt: lease }, data: { dueAt: new Date(now) } })
      return
    }
    onEvaluated('failed')
    // An error that is not about the alert is one of this installation, and nothing for its users to read.
    const problem = error instanceof AppError ? error.message : 'An error of the server; it is tried again'
    const dueAt = new Date(clock() + RETRY_MS)
    await db.prisma.alert.updateMany({ where: { id, dueAt: lease }, data: { dueAt, problem } })
    if (!(error instanceof AppError)) throw error
  }
}

const intervalOf = ({ interval }: AlertRow): AlertInterval => interval as AlertInterval

/**
 * The beginnings of the newest complete interval and of those that it is compared with, and its end. An alert that was not
 * evaluated for a while skips the intervals between, so that no messages about the past are sent.
 */
const newestBounds = (alert: AlertRow, { completeAfterMs, readsAll }: MeasurePlan, now: number): number[] => {
  const interval = intervalOf(alert)
  const complete = now - SETTLE_MS - completeAfterMs
  const { type } = conditionOf(alert)
  // `unusual` compares the interval before as well.
  const needed =
    type === 'unusual' && readsAll ? PAST[interval] + 2 : type === 'above' || type === 'below' ? 1 : 2
  // Two more, because the first and the last one are cut off, and as a day may have 25 hours.
  const from = complete - (needed + 2) * (lengthOf(interval) + (interval === 'day' ? 3_600_000 : 0))
  // The last one has begun and is not complete: its beginning is the end of the newest complete one.
  const found = zonedBuckets(interval, alert.timeZone, from, complete + 1, PAST.hour * 2) ?? []
  return found.slice(-needed - 1)
}

/** Reads what an alert is judged by. A funnel is compared with what earlier evaluations found, which costs no queries. */
const readValues = async (
  { db, runQuery }: AlertDeps,
  alert: AlertRow,
  plan: MeasurePlan,
  bounds: readonly number[],
  signal: AbortSignal,
): Promise<AlertReading> => {
  const interval = intervalOf(alert)
  const { projectId } = alert
  const range = { from: bounds[0], to: bounds.at(-1) }
  const values = await untilStopped(signal, (request) =>
    runQuery({ projectId, lane: 'alerts', ...range, request }, (queryStore) =>
      queryStore((store) => plan.read(store, projectId, bounds)),
    ),
  )
  const slotOf = createSlotOf(interval, alert.timeZone)
  const starts = bounds.slice(0, -1)
  const known = starts.flatMap((start, index): SeriesPoint[] => {
    const value = values[index] ?? null
    return value === null || index >= starts.length - 2 ? [] : [{ slot: slotOf(start), value }]
  })
  const before = starts.length > 1 ? (values.at(-2) ?? null) : null
  return {
    interval,
    value: values.at(-1) ?? null,
    before,
    past: plan.readsAll ? known : await readEvaluated(db.prisma, alert, starts.at(-2) ?? 0, slotOf),
    slots: { now: slotOf(starts.at(-1) ?? 0), before: slotOf(starts.at(-2) ?? 0) },
    isCount: plan.isCount,
  }
}

const readEvaluated = async (
  prisma: Platform['db']['prisma'],
  alert: AlertRow,
  before: number,
  slotOf: (at: number) => number,
): Promise<SeriesPoint[]> => {
  if (conditionOf(alert).type !== 'unusual') return []
  const since = new Date(before - PAST[intervalOf(alert)] * lengthOf(intervalOf(alert)))
  const rows = await prisma.alertEvaluation.findMany({
    where: { alertId: alert.id, value: { not: null }, bucket: { gte: since, lt: new Date(before) } },
    select: { bucket: true, value: true },
    distinct: ['bucket'],
    orderBy: [{ bucket: 'asc' }, { id: 'desc' }],
  })
  return rows.map(({ bucket, value }) => ({ slot: slotOf(bucket.getTime()), value: value ?? 0 }))
}

/**
 * Stores what an alert found, with its messages, in one transaction, so that each is sent once.
 * @returns undefined when the alert was changed, or claimed by another process, meanwhile
 */
const store = async (
  { db, clock, publicUrl }: AlertDeps,
  alert: ClaimedAlert,
  lease: Date,
  { reading, bucket, nextDue }: { reading: AlertReading; bucket: number; nextDue: number },
): Promise<Outcome | undefined> => {
  const wasFiring = alert.firingSince !== null
  const { state, expected, deviation } = judgeAlert(conditionOf(alert), reading, wasFiring)
  const at = clock()
  const finding: Finding = { value: reading.value, expected, deviation, bucket, at }
  const found = { value: finding.value, expected, deviation, state }
  // Without data it is not known whether what fired has ended.
  const isFiring = state === 'firing' || (state === 'noData' && wasFiring)
  return db.prisma.$transaction(async (tx) => {
    const { count } = await tx.alert.updateMany({
      where: { id: alert.id, dueAt: lease, version: alert.version },
      data: {
        ...found,
        bucket: new Date(bucket),
        firingSince: isFiring ? (alert.firingSince ?? new Date(at)) : null,
        problem: null,
        dueAt: new Date(nextDue),
      },
    })
    if (count === 0) return undefined
    const { mutedUntil, announced } = await tx.alert.findUniqueOrThrow({ where: { id: alert.id } })
    const isMuted = mutedUntil !== null && mutedUntil.getTime() > at
    const message = messageOf({ state, isFiring, announced, isMuted })
    if (message !== undefined) await announce(tx, alert, message, finding, publicUrl)
    // What ended while it was muted needs no message any more.
    const isAnnounced = isFiring && (announced || message === 'fired')
    if (isAnnounced !== announced)
      await tx.alert.update({ where: { id: alert.id }, data: { announced: isAnnounced } })
    const change = isFiring === wasFiring ? null : isFiring ? 'fired' : 'resolved'
    await tx.alertEvaluation.create({
      data: {
        id: uuidv7(),
        alertId: alert.id,
        bucket: new Date(bucket),
        change,
        ...found,
        evaluatedAt: new Date(at),
      },
    })
    const kept = new Date(at - ALERT_HISTORY_DAYS * DAY_MS)
    await tx.alertEvaluation.deleteMany({ where: { alertId: alert.id, bucket: { lt: kept } } })
    return state
  })
}

/** Which message is due: one for each beginning, also if it was muted then, and one for the end of what was announced. */
const messageOf = ({
  state,
  isFiring,
  announced,
  isMuted,
}: {
  state: string
  isFiring: boolean
  announced: boolean
  isMuted: boolean
}): 'fired' | 'resolved' | undefined => {
  if (isMuted) return undefined
  if (state === 'firing' && !announced) return 'fired'
  return !isFiring && announced ? 'resolved' : undefined
}

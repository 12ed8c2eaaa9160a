import type { AlertInterval, AlertMeasure, AlertWebFigure } from '@waymark/contracts/http/alerts'
import type { FunnelRequest, TrendsRequest } from '@waymark/contracts/http/analytics'
import type { EventQueries, VisitRow } from '@waymark/event-store'
import { readFunnel } from '../analytics/funnel.ts'
import { emptyValueOf, isCountMetric, readTrends } from '../analytics/trends.ts'
import { readWeb } from '../analytics/web.ts'
import { below, unprocessable } from '../http/validation.ts'

/** What is measured. */
export type MeasuredAlert = {
  measure: AlertMeasure
  /** Null for the web analytics. */
  insight: { kind: string; query: unknown } | null
  interval: AlertInterval
}

/** Reads the values of intervals. */
export type MeasurePlan = {
  /** Whether values are numbers of events, people or visits. */
  isCount: boolean
  /** How long after its end an interval is complete, in ms. */
  completeAfterMs: number
  /**
   * Reads the values of intervals, given their beginnings in order and the end of the last one, in ms since the epoch. Null
   * where there is nothing that it could be computed from.
   */
  read: (store: EventQueries, projectId: string, bounds: readonly number[]) => Promise<(number | null)[]>
  /** Whether `read` takes one query for all intervals, otherwise one for each. */
  readsAll: boolean
}

const HOUR_MS = 3_600_000
const DAY_MS = 24 * HOUR_MS
/** Plans how the values of an alert are read. @throws AppError unprocessable that names the field below `measure` */
export const planMeasure = ({ measure, insight, interval }: MeasuredAlert): MeasurePlan => {
  requireOneSource(measure)
  if (measure.web) return planWeb(measure.web)
  switch (insight?.kind) {
    case 'trends':
      requireUnused(measure, ['step'], 'a trend')
      return planTrend(measure, insight.query)
    case 'funnel':
      requireUnused(measure, ['series', 'currency'], 'a funnel')
      return planFunnel(measure, insight.query, interval)
    default:
      throw unprocessable(
        'measure.insightId',
        'kind',
        'must be the id of a trend or of a funnel',
        measure.insightId,
      )
  }
}

/** The usual length of an interval, in ms. */
export const lengthOf = (interval: AlertInterval): number => (interval === 'hour' ? HOUR_MS : DAY_MS)

const periodOf = (bounds: readonly number[]) => ({
  from: bounds[0] ?? 0,
  to: bounds.at(-1) ?? 0,
  buckets: bounds.slice(0, -1),
})

const requireOneSource = ({ insightId, web, ...rest }: AlertMeasure): void => {
  if ((insightId === undefined) === (web === undefined))
    throw unprocessable('measure', 'source', 'must have either insightId or web')
  if (web) requireUnused(rest, ['series', 'currency', 'step'], 'the web analytics')
}

const requireUnused = (measure: AlertMeasure, fields: readonly (keyof AlertMeasure)[], of: string): void => {
  const used = fields.find((field) => measure[field] !== undefined)
  if (used !== undefined)
    throw unprocessable(`measure.${used}`, 'kind', `is not used with ${of}`, measure[used])
}

const planTrend = ({ series: index = 0, currency }: AlertMeasure, query: unknown): MeasurePlan => {
  const { breakdown: _b, compareTo: _c, ...saved } = query as TrendsRequest
  const { series } = readTrends({ ...saved, ...ANY_DAY, interval: 'day' })
  const watched = series[index]?.query
  if (!watched)
    throw unprocessable(
      'measure.series',
      'maximum',
      `must be below ${series.length}, the number of series`,
      index,
    )
  if ((watched.metric === 'revenue') !== (currency !== undefined))
    throw unprocessable(
      'measure.currency',
      'metric',
      currency === undefined ? 'is required with the metric revenue' : 'is used only with the metric revenue',
      currency,
    )
  const empty = emptyValueOf(watched.metric)
  return {
    isCount: isCountMetric(watched.metric),
    completeAfterMs: 0,
    readsAll: true,
    read: async (store, projectId, bounds) => {
      const rows = await store.measureTrend({ projectId, ...periodOf(bounds), ...watched })
      const found = new Map(
        rows
          .filter((row) => currency === undefined || row.currency === currency)
          .map(({ bucket, value }) => [bucket, value]),
      )
      return bounds.slice(1).map((_, bucket) => found.get(bucket) ?? empty)
    },
  }
}

/**
 * The share of people who reach a step, of those who begin in the interval. They have the window of the funnel for it, but at
 * most the length of an interval, because an interval is complete only after that.
 */
const planFunnel = (measure: AlertMeasure, query: unknown, interval: AlertInterval): MeasurePlan => {
  const { breakdown: _, ...saved } = query as FunnelRequest
  const { steps, windowMs, order, maxGroups } = readFunnel({ ...saved, ...ANY_DAY })
  const step = measure.step ?? steps.length - 1
  if (step >= steps.length)
    throw unprocessable('measure.step', 'maximum', `must be below ${steps.length}, the number of steps`, step)
  const window = Math.min(windowMs, lengthOf(interval))
  return {
    isCount: false,
    completeAfterMs: window,
    readsAll: false,
    read: async (store, projectId, bounds) => {
      const values: (number | null)[] = []
      for (const [index, to] of bounds.slice(1).entries()) {
        const range = { from: bounds[index] ?? to, to }
        const rows = await store.measureFunnel({
          projectId,
          ...range,
          steps,
          order,
          maxGroups,
          windowMs: window,
        })
        const peopleAt = (wanted: number) => rows.find((row) => row.step === wanted)?.people ?? 0
        values.push(peopleAt(0) === 0 ? null : peopleAt(step) / peopleAt(0))
      }
      return values
    },
  }
}

const planWeb = ({ figure, filters = [] }: NonNullable<AlertMeasure['web']>): MeasurePlan => {
  const { query } = below('measure.web', () => readWeb({ ...ANY_DAY, filters }))
  return {
    isCount: !RATES.has(figure),
    completeAfterMs: 0,
    readsAll: true,
    read: async (store, projectId, bounds) => {
      const rows = await store.measureVisits({ projectId, ...periodOf(bounds), ...query, limit: 0 })
      const found = new Map(rows.filter(({ kind }) => kind === 'bucket').map((row) => [row.value, row]))
      return bounds.slice(1).map((_, bucket) => figureIn(figure, found.get(`${bucket}`)))
    },
  }
}

const RATES: ReadonlySet<AlertWebFigure> = new Set(['bounceRate', 'visitSeconds'])

const figureIn = (figure: AlertWebFigure, row: VisitRow | undefined): number | null => {
  if (!row || row.visits === 0) return RATES.has(figure) ? null : 0
  switch (figure) {
    case 'visitors':
      return row.visitors ?? 0
    case 'visits':
      return row.visits
    case 'views':
      return row.views
    case 'bounceRate':
      return row.bounces / row.visits
    case 'visitSeconds':
      return row.durationMs / 1_000 / row.visits
  }
}

// Queries are read with a range, which the intervals replace.
const ANY_DAY = { from: '2026-01-01T00:00:00.000Z', to: '2026-01-02T00:00:00.000Z' }

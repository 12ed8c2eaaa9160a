import { AppError } from '@waymark/contracts/app-error'
import type { FunnelRequest, TrendsRequest } from '@waymark/contracts/http/analytics'
import type { Log } from '@waymark/contracts/log'
import { PICTURE_SIZE, type ReportFigure, type ReportTile } from '@waymark/domain/subscription'
import { numberText } from '@waymark/domain/text'
import type { ReportPeriod, ReportSchedule } from '@waymark/event-store'
import type { Images } from '@waymark/service-kit'
import { answerFunnel, readFunnel } from '../analytics/funnel.ts'
import type { QueryStore, RunQuery } from '../analytics/run-queries.ts'
import { timeText } from '../analytics/time-range.ts'
import { emptyValueOf, readTrends } from '../analytics/trends.ts'
import { untilStopped } from '../analytics/until-stopped.ts'

/** Most figures of an insight, such as the currencies of its revenue. */
const MAX_FIGURES = 20
/** Pictures are drawn with two pixels for one, for sharp displays. */
const PIXELS = 2

type MeasureDeps = { runQuery: RunQuery; images: Images; log: Log }
/** An insight of the dashboard. `query` was validated when it was saved. */
type Insight = { id: string; projectId: string; name: string; kind: string; query: unknown }
type Subject = { insight: Insight; schedule: ReportSchedule; period: ReportPeriod }

/** What an insight has in a period: its figures, and the values of its picture. */
type Findings = {
  figures: ReportFigure[]
  bars: { values: readonly number[]; what: string } | null
}

/** A tile, and whether a repeated attempt may measure what could not be measured. */
export type MeasuredTile = { tile: ReportTile; isWorthRetrying: boolean }

/**
 * Measures an insight of a dashboard in a period and in the one before. A failure is named in the tile.
 * @throws when `signal` aborts
 */
export const measureTile = async (
  { runQuery, images, log }: MeasureDeps,
  { insight, schedule, period }: Subject,
  signal: AbortSignal,
): Promise<MeasuredTile> => {
  const { projectId, name } = insight
  try {
    const { figures, bars } = await untilStopped(signal, (request) =>
      runQuery(
        { projectId, lane: 'subscriptions', from: period.before, to: period.to, request },
        (queryStore) => measureInsight(queryStore, { insight, schedule, period }),
      ),
    )
    const picture = bars && (await draw(images, projectId, bars, log))
    return {
      tile: { name, figures: figures.slice(0, MAX_FIGURES), problem: null, picture },
      isWorthRetrying: false,
    }
  } catch (error) {
    if (signal.aborted) throw error
    const isExplained = error instanceof AppError
    if (!isExplained) log.warn({ insightId: insight.id, err: error }, 'Insight of a subscription failed')
    // An error that is not about the insight is one of this installation, and nothing for its users to read.
    const problem = isExplained ? error.message : 'an error of the server'
    return {
      tile: { name, figures: [], problem, picture: null },
      isWorthRetrying: !isExplained || error.code !== 'unprocessable',
    }
  }
}

const measureInsight = (queryStore: QueryStore, subject: Subject): Promise<Findings> => {
  switch (subject.insight.kind) {
    case 'trends':
      return measureTrend(queryStore, subject)
    case 'funnel':
      return measureFunnel(queryStore, subject)
    default:
      // Retention and paths have no single figure.
      return Promise.resolve({ figures: [], bars: null })
  }
}

/** The total of each series. The picture shows the first one by hour of a day, or by day. */
const measureTrend = async (
  queryStore: QueryStore,
  { insight: { projectId, query }, schedule, period }: Subject,
): Promise<Findings> => {
  const { breakdown: _b, compareTo: _c, ...saved } = query as TrendsRequest
  const interval = schedule.interval === 'day' ? 'hour' : 'day'
  const { before, from, to } = period
  const plan = readTrends({
    ...saved,
    from: timeText(from),
    to: timeText(to),
    interval,
    timeZone: schedule.timeZone,
  })
  const figures: ReportFigure[] = []
  let bars: Findings['bars'] = null
  for (const [index, { request, query: series }] of plan.series.entries()) {
    const empty = emptyValueOf(request.metric)
    const rows = await queryStore((store) =>
      store.measureTrend({ projectId, from: before, to, buckets: [before, from], ...series }),
    )
    const currencies = new Set(rows.map(({ currency }) => currency))
    if (currencies.size === 0) currencies.add(null)
    const label = seriesLabel(request)
    for (const currency of currencies) {
      const valueIn = (bucket: number): number | null =>
        rows.find((row) => row.bucket === bucket && row.currency === currency)?.value ?? empty
      figures.push({
        label,
        value: valueIn(1),
        before: valueIn(0),
        format: currency === null ? 'number' : 'money',
        currency,
      })
    }
    if (index > 0) continue
    const [shown = null] = currencies
    const points = await queryStore((store) => store.measureTrend({ projectId, ...plan.period, ...series }))
    const values = plan.period.buckets.map(
      (_, bucket) => points.find((row) => row.bucket === bucket && row.currency === shown)?.value ?? 0,
    )
    bars = { values, what: `${label} by ${interval}` }
  }
  return { figures, bars }
}

/** How many people began and finished. The picture shows the people of each step. */
const measureFunnel = async (
  queryStore: QueryStore,
  { insight: { projectId, query }, period: { before, from, to } }: Subject,
): Promise<Findings> => {
  const { breakdown: _, ...saved } = query as FunnelRequest
  const stepsIn = async (start: number, end: number) => {
    const plan = readFunnel({ ...saved, from: timeText(start), to: timeText(end) })
    return (await answerFunnel(queryStore, projectId, plan)).steps
  }
  const [now, earlier] = [await stepsIn(from, to), await stepsIn(before, from)]
  const [first, last] = [now[0]?.eventName ?? '', now.at(-1)?.eventName ?? '']
  const shareOf = (steps: typeof now) => (steps[0]?.people ? (steps.at(-1)?.rateFromFirst ?? null) : null)
  const figure = { currency: null }
  return {
    figures: [
      {
        ...figure,
        label: `People with ${first}`,
        value: now[0]?.people ?? 0,
        before: earlier[0]?.people ?? 0,
        format: 'number',
      },
      {
        ...figure,
        label: `Of these with ${last}`,
        value: shareOf(now),
        before: shareOf(earlier),
        format: 'share',
      },
    ],
    bars: { values: now.map(({ people }) => people), what: 'People by step' },
  }
}

/** A picture that cannot be drawn is left out, because its figures are in the text. */
const draw = async (
  images: Images,
  projectId: string,
  { values, what }: NonNullable<Findings['bars']>,
  log: Log,
): Promise<ReportTile['picture']> => {
  try {
    const { width, height } = PICTURE_SIZE
    const png = await images.bars(projectId, { values, width: width * PIXELS, height: height * PIXELS })
    const [lowest, highest] = [Math.min(...values), Math.max(...values)]
    return {
      png: png.toString('base64'),
      alt: `${what}: ${values.length} bars from ${numberText(lowest)} to ${numberText(highest)}`,
    }
  } catch (error) {
    log.warn({ projectId, err: error }, 'Picture of a subscription could not be drawn')
    return null
  }
}

type SeriesRequest = TrendsRequest['series'][number]

const METRICS: Readonly<Record<SeriesRequest['metric'], string>> = {
  events: 'Events',
  people: 'People',
  sessions: 'Sessions',
  conversions: 'Conversions',
  revenue: 'Revenue',
  sum: 'Sum',
  avg: 'Average',
  min: 'Minimum',
  max: 'Maximum',
  p50: 'Median',
  p90: '90th percentile',
  p99: '99th percentile',
}

const seriesLabel = ({ eventName, metric, property }: SeriesRequest): string =>
  `${METRICS[metric]}${property === undefined ? '' : ` of ${property}`} (${eventName ?? 'all events'})`

import { Link } from '@tanstack/react-router'
import { useMemo } from 'react'
import { useProject, useProjectId } from '../api/session.ts'
import type { Queries } from '../explore/query-types.ts'
import { METRICS as TITLES } from '../explore/query-url.ts'
import { type QueryResult, useQueryResult } from '../explore/run-query.ts'
import { type Range, readerZone } from '../explore/time-range.ts'
import { groupName } from '../explore/trend-lines.ts'
import { Pipeline } from '../health/pipeline.tsx'
import { EventRows } from '../live/event-rows.tsx'
import { buttonClass } from '../ui/button.tsx'
import { Card, PageHeader } from '../ui/card.tsx'
import { BarList, TimeChart } from '../ui/chart.tsx'
import { formatNumber, formatPercent } from '../ui/format.tsx'
import { Icon } from '../ui/icon.tsx'
import { formatMoney } from '../ui/money.ts'
import { seriesColor } from '../ui/plot.tsx'
import { EmptyState, ErrorState, Skeleton, SkeletonBlock } from '../ui/states.tsx'
import { DemoBanner, useDemoData } from './demo-banner.tsx'
import { FirstEvent } from './first-key.tsx'

const METRICS = ['events', 'people', 'conversions', 'revenue'] as const
type Metric = (typeof METRICS)[number]
type Trends = QueryResult<'trends'>

const TODAY: Range = { preset: '1d' }
const DAYS: Range = { preset: '14d' }
const NAMES = 8

/** A trend in days of the reader's time zone, read again while the page is open. */
const useTrend = (query: Omit<Queries['trends'], 'interval'>, range: Range) =>
  useQueryResult('trends', { interval: 'day', timeZone: readerZone(), ...query }, range, {
    staleTime: 0,
    refetchInterval: ({ state }) => {
      if (range === TODAY) return 30_000
      // Without events, the first one is awaited.
      return state.data && isEmpty(state.data) ? 2_000 : 60_000
    },
  })

const isEmpty = ({ data }: Trends): boolean => data.series.every(({ total }) => total === 0)

type Amount = { now: number; before: number; currency: string | null }

/** Today and the same part of yesterday: revenue of each currency, the greatest first, and one amount of all others. */
const amountsOf = ({ data }: Trends, metric: Metric): Amount[] =>
  data.series
    .filter((one) => one.metric === metric)
    .map(({ total, previousTotal = 0, currency }) => ({ now: total, before: previousTotal, currency }))

const textOf = (amount: number, currency: string | null): string =>
  currency === null ? formatNumber(amount) : formatMoney(amount, currency)

const Change = ({ now, before, currency, until }: Amount & { until: string }) => {
  if (before === 0)
    return (
      <span className="text-muted">
        {textOf(before, currency)} yesterday until {until}
      </span>
    )
  const change = (now - before) / before
  return (
    <span className={change < 0 ? 'text-warning' : 'text-accent-text'}>
      {change > 0 && '+'}
      {formatPercent(change)} <span className="text-muted">on yesterday until {until}</span>
    </span>
  )
}

const Figure = ({ metric, result }: { metric: Metric; result: Trends | undefined }) => {
  const [first, ...others] = result ? amountsOf(result, metric) : []
  const text = ({ now, currency }: Amount) => textOf(now, currency)
  return (
    <Card padded>
      <div className="@container">
        <h2 className="text-muted">{TITLES[metric]} today</h2>
        {result && first ? (
          <>
            <p className={AMOUNT}>{text(first)}</p>
            <p className={CHANGE}>
              {metric === 'revenue' && first.currency === null ? (
                <span className="text-muted">no revenue yet</span>
              ) : (
                <Change {...first} until={clock.format(new Date(result.range.to))} />
              )}
            </p>
            {others.length > 0 && <p className="text-muted">and {others.map(text).join(', ')}</p>}
          </>
        ) : (
          <div role="status" aria-label="Loading">
            <div className={AMOUNT}>
              <Skeleton className="h-[1lh] w-24" />
            </div>
            <div className={CHANGE}>
              <Skeleton className="h-[1lh] w-full" />
            </div>
          </div>
        )}
      </div>
    </Card>
  )
}

const AMOUNT =
  'text-[1.25rem] leading-tight font-semibold tracking-tight tabular-nums wrap-anywhere @min-[9rem]:text-[1.5rem] @3xs:text-[1.9rem]'
/** As high as two lines where the text needs them, so that nothing moves when it appears. */
const CHANGE = 'min-h-[2lh] @3xs:min-h-[1lh]'

const clock = new Intl.DateTimeFormat(undefined, { timeStyle: 'short' })

/** Today until now, compared with yesterday until the same time. */
const Today = () => {
  const series = METRICS.map((metric) => ({ metric }))
  const { data, error, refetch } = useTrend({ series, compareTo: 'previous_period' }, TODAY)
  if (error && !data)
    return (
      <Card className="mb-4">
        <ErrorState error={error} retry={() => void refetch()} />
      </Card>
    )
  return (
    <div className="mb-4 grid grid-cols-2 gap-4 lg:grid-cols-4">
      {METRICS.map((metric) => (
        <Figure key={metric} metric={metric} result={data} />
      ))}
    </div>
  )
}

const EventNames = () => {
  const series = [{ metric: 'events' as const }]
  const { data, error, refetch } = useTrend({ series, breakdown: 'eventName', limit: NAMES }, DAYS)
  if (data)
    return (
      <BarList
        label="Events by name"
        rows={data.data.series
          .filter(({ other }) => !other)
          .map(({ group, other, total }) => ({ name: groupName(group, other), value: total }))}
      />
    )
  return error ? (
    <ErrorState error={error} retry={() => void refetch()} />
  ) : (
    <SkeletonBlock className="h-40" />
  )
}

/** The series of the chart, in the order of its lines. */
const CHART: Queries['trends']['series'] = [{ metric: 'events' }, { metric: 'people' }]

/** The overview: today compared with yesterday, and the state of the project. */
export const Home = () => {
  const project = useProject()
  const projectId = useProjectId()
  const days = useTrend({ series: CHART }, DAYS)
  const demo = useDemoData()
  const lines = useMemo(
    () => days.data?.data.series.map(({ metric, values }) => ({ label: TITLES[metric as Metric], values })),
    [days.data],
  )
  const isNew = days.data && isEmpty(days.data)
  return (
    <>
      <PageHeader
        title="Home"
        description={project && `${project.name} today, compared with yesterday until the same time.`}
      />
      {demo.data?.present && <DemoBanner />}
      {demo.isPending && <SkeletonBlock className="h-60" />}
      {/* The banner above would move what is shown before. */}
      <div hidden={demo.isPending}>
        {isNew ? (
          <Card>
            <EmptyState icon="live" title="Send the first event">
              <p className="mb-4">Paste this into a terminal. The event appears on this page at once.</p>
              <FirstEvent />
            </EmptyState>
          </Card>
        ) : (
          <>
            <Today />
            <div className="grid grid-cols-[minmax(0,1fr)] gap-4 lg:grid-cols-3">
              <Card
                title="Last 14 days"
                className="lg:col-span-2"
                padded
                actions={
                  <ul className="flex gap-4 text-muted">
                    {CHART.map(({ metric }, index) => (
                      <li key={metric} className="flex items-center gap-1.5">
                        <span className={`size-2.5 rounded-full ${seriesColor(index)}`} />{' '}
                        {TITLES[metric as Metric]}
                      </li>
                    ))}
                  </ul>
                }
              >
                {lines && days.data ? (
                  <TimeChart label="Events and people a day" at={days.data.data.buckets} series={lines} />
                ) : days.error ? (
                  <ErrorState error={days.error} retry={() => void days.refetch()} />
                ) : (
                  <SkeletonBlock className="h-[220px]" />
                )}
              </Card>
              <Pipeline />
              <Card
                title="Latest events"
                className="lg:col-span-2"
                actions={
                  <Link to="/p/$projectId/live" params={{ projectId }} className={buttonClass('quiet', true)}>
                    All events <Icon name="right" />
                  </Link>
                }
              >
                <EventRows limit={8} filters={{}} />
              </Card>
              <Card title="What happens most" padded>
                <EventNames />
              </Card>
            </div>
          </>
        )}
      </div>
    </>
  )
}

import { useQuery } from '@tanstack/react-query'
import { Link } from '@tanstack/react-router'
import { useMemo } from 'react'
import { api, unwrap } from '../api/client.ts'
import { useProject, useProjectId } from '../api/session.ts'
import type { Stats } from '../api/types.ts'
import { EventRows } from '../live/event-rows.tsx'
import { buttonClass } from '../ui/button.tsx'
import { Card, PageHeader } from '../ui/card.tsx'
import { BarList, TimeChart } from '../ui/chart.tsx'
import { formatMoney, formatNumber, formatPercent } from '../ui/format.tsx'
import { Icon } from '../ui/icon.tsx'
import { seriesColor } from '../ui/plot.tsx'
import { EmptyState, ErrorState, Skeleton } from '../ui/states.tsx'
import { DemoBanner } from './demo-banner.tsx'
import { FirstEvent } from './first-key.tsx'
import { Health } from './health.tsx'

type Metric = 'events' | 'visitors' | 'conversions' | 'revenue'
const DAYS = 14
const DAY_MS = 86_400_000

/** Midnight in the user's time zone, `days` ago. */
const midnight = (days: number): string => {
  const date = new Date()
  date.setHours(0, 0, 0, 0)
  return new Date(date.getTime() - days * DAY_MS).toISOString()
}

const useStats = (metric: Metric, groupBy?: 'name') => {
  const projectId = useProjectId()
  const query = { metric, interval: 'day', from: midnight(DAYS - 1), ...(groupBy && { groupBy }) } as const
  return useQuery({
    queryKey: [projectId, 'stats', query],
    queryFn: (): Promise<Stats> =>
      unwrap(api.GET('/api/projects/{projectId}/stats', { params: { path: { projectId }, query } })),
    // Waits for the first event.
    refetchInterval: ({ state }) => (state.data && isEmpty(state.data) ? 2_000 : 30_000),
  })
}

const isEmpty = ({ series }: Stats): boolean => series.every(({ total }) => total === 0)

const sums = ({ buckets, series }: Stats) =>
  buckets.map((_, at) => series.reduce((sum, { values }) => sum + (values[at] ?? 0), 0))

const Change = ({ now, before }: { now: number; before: number }) => {
  if (before === 0) return <span className="text-muted">{formatNumber(before)} yesterday</span>
  const change = (now - before) / before
  return (
    <span className={change < 0 ? 'text-warning' : 'text-accent-text'}>
      {change > 0 && '+'}
      {formatPercent(change)} <span className="text-muted">on yesterday</span>
    </span>
  )
}

/** Today and yesterday of each currency, the greatest first. */
const revenueOf = ({ series }: Stats) =>
  series.flatMap(({ currency, values }) =>
    currency === null ? [] : [{ currency, now: values.at(-1) ?? 0, before: values.at(-2) ?? 0 }],
  )

const Figure = ({ title, metric }: { title: string; metric: Metric }) => {
  const { data, error, refetch } = useStats(metric, metric === 'events' ? 'name' : undefined)
  const values = data && sums(data)
  const [revenue, ...others] = metric === 'revenue' && data ? revenueOf(data) : []
  const now = revenue?.now ?? values?.at(-1) ?? 0
  const before = revenue?.before ?? values?.at(-2) ?? 0
  return (
    <Card padded>
      <h2 className="text-muted">{title}</h2>
      {error ? (
        <ErrorState error={error} retry={() => void refetch()} />
      ) : values ? (
        <>
          <p className="text-[1.5rem] leading-tight sm:text-[1.9rem] font-semibold tracking-tight tabular-nums">
            {revenue ? formatMoney(now, revenue.currency) : formatNumber(now)}
          </p>
          <p>
            {metric === 'revenue' && !revenue ? (
              <span className="text-muted">no revenue yet</span>
            ) : (
              <Change now={now} before={before} />
            )}
          </p>
          {others.length > 0 && (
            <p className="text-muted">
              and {others.map((one) => formatMoney(one.now, one.currency)).join(', ')}
            </p>
          )}
        </>
      ) : (
        <Skeleton className="mt-2 h-12 w-24" />
      )}
    </Card>
  )
}

/** The overview: today compared with yesterday, and the state of the project. */
export const Home = () => {
  const project = useProject()
  const projectId = useProjectId()
  // The sum of all names, because the number of concurrent queries is limited.
  const events = useStats('events', 'name')
  const visitors = useStats('visitors')
  const series = useMemo(
    () =>
      events.data && visitors.data
        ? [
            { label: 'Events', values: sums(events.data) },
            { label: 'Visitors', values: sums(visitors.data) },
          ]
        : undefined,
    [events.data, visitors.data],
  )
  const isNew = events.data && isEmpty(events.data)
  return (
    <>
      <PageHeader
        title="Home"
        description={project && `Today in ${project.name}. Days begin at midnight UTC.`}
      />
      <DemoBanner />
      {isNew ? (
        <Card>
          <EmptyState icon="live" title="Send the first event">
            <p className="mb-4">Paste this into a terminal. The event appears on this page at once.</p>
            <FirstEvent />
          </EmptyState>
        </Card>
      ) : (
        <>
          <div className="mb-4 grid grid-cols-2 gap-4 lg:grid-cols-4">
            <Figure title="Events today" metric="events" />
            <Figure title="Visitors today" metric="visitors" />
            <Figure title="Conversions today" metric="conversions" />
            <Figure title="Revenue today" metric="revenue" />
          </div>
          <div className="grid grid-cols-[minmax(0,1fr)] gap-4 lg:grid-cols-3">
            <Card
              title="Last 14 days"
              className="lg:col-span-2"
              padded
              actions={
                <ul className="flex gap-4 text-muted">
                  <li className="flex items-center gap-1.5">
                    <span className={`size-2.5 rounded-full ${seriesColor(0)}`} /> Events
                  </li>
                  <li className="flex items-center gap-1.5">
                    <span className={`size-2.5 rounded-full ${seriesColor(1)}`} /> Visitors
                  </li>
                </ul>
              }
            >
              {series && events.data ? (
                <TimeChart label="Events and visitors a day" at={events.data.buckets} series={series} />
              ) : (
                <Skeleton className="h-[220px]" />
              )}
            </Card>
            <Health />
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
              {events.data ? (
                <BarList
                  label="Events by name"
                  rows={events.data.series
                    .map(({ group, total }) => ({ name: group ?? 'others', value: total }))
                    .toSorted((a, b) => b.value - a.value)
                    .slice(0, 8)}
                />
              ) : (
                <Skeleton className="h-40" />
              )}
            </Card>
          </div>
        </>
      )}
    </>
  )
}

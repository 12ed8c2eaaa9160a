import { useQuery } from '@tanstack/react-query'
import { useMemo } from 'react'
import { api, unwrap } from '../api/client.ts'
import { readAll } from '../api/pages.ts'
import { useProjectId } from '../api/session.ts'
import { useIsShared } from '../api/shared.ts'
import type { MeteringSelector } from '../api/types.ts'
import { useUrlState } from '../api/url-state.ts'
import { RangeFields } from '../explore/common-fields.tsx'
import { DEFAULT_RANGE, formatRange, parseRange, readerZone } from '../explore/time-range.ts'
import { ShareButton } from '../shares/share-button.tsx'
import { Badge } from '../ui/badge.tsx'
import { Button } from '../ui/button.tsx'
import { Card, PageHeader } from '../ui/card.tsx'
import { SeriesTable } from '../ui/chart.tsx'
import { formatCountry, formatNumber, formatPercent } from '../ui/format.tsx'
import { Plot } from '../ui/plot.tsx'
import { EmptyState, ErrorState, SkeletonBlock } from '../ui/states.tsx'
import { ScriptLine } from './script-line.tsx'
import { useWeb } from './use-web.ts'
import { DIMENSIONS, formatFilters, parseFilters, toggleFilter, type WebFilter } from './web-filters.ts'
import { formatRevenue, WebLists } from './web-rows.tsx'

export type WebData = NonNullable<ReturnType<typeof useWeb>['data']>
type Figures = WebData['totals']
type Metric = keyof Figures

const METRICS: Record<Metric, { title: string; format: (value: number) => string; lessIsBetter?: true }> = {
  visitors: { title: 'Visitors', format: formatNumber },
  visits: { title: 'Visits', format: formatNumber },
  views: { title: 'Page views', format: formatNumber },
  bounceRate: { title: 'Bounce rate', format: formatPercent, lessIsBetter: true },
  visitSeconds: { title: 'Visit duration', format: (seconds) => durationText(seconds) },
}
const NAMES = Object.keys(METRICS) as Metric[]
const NONE: readonly Figures[] = []

/** Minutes and seconds, such as "2m 05s". */
const durationText = (seconds: number): string => {
  const whole = Math.round(seconds)
  const rest = whole % 60
  return whole < 60 ? `${whole}s` : `${Math.floor(whole / 60)}m ${`${rest}`.padStart(2, '0')}s`
}

const CHANNELS: Record<string, string> = {
  direct: 'Direct',
  organic_search: 'Organic search',
  paid_search: 'Paid search',
  social: 'Social',
  email: 'Email',
  referral: 'Referral',
  campaign: 'Campaign',
}
const channelName = (channel: string): string => CHANNELS[channel] ?? channel
const deviceName = (device: string): string => device.charAt(0).toUpperCase() + device.slice(1)

const nameOfFilter = ([property, value]: WebFilter): string => {
  if (value === null) return 'unknown'
  if (property === 'visit.channel') return channelName(value)
  if (property === 'visit.device') return deviceName(value)
  return property === 'visit.country' ? formatCountry(value) : value
}

/** The range and the filters in the URL. */
export const useWebState = () => {
  const [search, set] = useUrlState<string>()
  // The state is a new object after each navigation.
  const { range: name, from, to, filters: text } = search
  const range = useMemo(
    () =>
      parseRange({
        ...(name !== undefined && { range: name }),
        ...(from !== undefined && { from }),
        ...(to !== undefined && { to }),
      }) ?? DEFAULT_RANGE,
    [name, from, to],
  )
  const filters = useMemo(() => parseFilters(text), [text])
  const onToggle = (filter: WebFilter) => set({ filters: formatFilters(toggleFilter(filters, filter)) })
  return { range, filters, onToggle, set }
}

/** Visits: how many, from where, and which pages. */
export const Web = () => {
  const { range, filters, onToggle, set } = useWebState()
  const { data, error, refetch } = useWeb(range, filters)
  const goalNames = useGoalNames()
  const isNew = data?.totals.views === 0 && filters.length === 0
  return (
    <>
      <PageHeader
        title="Web"
        description="Visits to your pages: how many, from where, and what they lead to."
        aside={
          data && (
            <Badge
              tone={data.online > 0 ? 'good' : 'neutral'}
            >{`${formatNumber(data.online)} online now`}</Badge>
          )
        }
        actions={
          <>
            <ShareButton kind="web" name="Web" />
            <RangeFields range={range} onChange={(next) => set(formatRange(next))} />
          </>
        }
      />
      <WebChips filters={filters} onToggle={onToggle} onClear={() => set({ filters: '' })} />
      {error && !data ? (
        <Card>
          <ErrorState error={error} retry={() => void refetch()} />
        </Card>
      ) : !data ? (
        <SkeletonBlock className="h-96" />
      ) : isNew ? (
        <Card>
          <EmptyState icon="web" title="No page views in this time">
            <p className="mb-4">Put this line into your pages, and open one of them.</p>
            <ScriptLine />
          </EmptyState>
        </Card>
      ) : (
        <WebReport data={data} filters={filters} onToggle={onToggle} goalNames={goalNames.data} />
      )}
    </>
  )
}

/** The figures of visits. Each row of a list is a filter. */
export const WebReport = ({
  data,
  filters,
  onToggle,
  goalNames,
}: {
  data: WebData
  filters: readonly WebFilter[]
  onToggle: (filter: WebFilter) => void
  /** The event names of goals by their selector. */
  goalNames: ReadonlyMap<string, string> | undefined
}) => {
  const [search, set] = useUrlState<string>()
  const metric = NAMES.find((one) => one === search.metric) ?? 'visitors'
  const selection = { filters, onToggle }
  const before = (data.previousTotals?.visits ? data.previousSeries : undefined) ?? NONE
  return (
    <>
      <div className="mb-4 grid grid-cols-2 gap-3 sm:grid-cols-3 lg:grid-cols-5">
        {NAMES.map((one) => (
          <Figure
            key={one}
            metric={one}
            now={data.totals[one]}
            before={data.previousTotals?.[one]}
            isShown={one === metric}
            onShow={() => set({ metric: one === 'visitors' ? '' : one })}
          />
        ))}
      </div>
      <Card
        title={METRICS[metric].title}
        description={before.length > 0 && 'The dashed line is the time before.'}
        padded
        className="mb-4"
      >
        <Chart
          metric={metric}
          at={data.buckets}
          now={data.series}
          before={before}
          isHourly={isHourly(data.buckets)}
        />
      </Card>
      <div className="grid grid-cols-[minmax(0,1fr)] gap-4 lg:grid-cols-2">
        <WebLists
          title="Pages"
          name="pages"
          {...selection}
          lists={[
            {
              dimension: 'context.path',
              counted: 'Views',
              rows: data.pages.map(({ value, views }) => ({ value, count: views })),
            },
            { dimension: 'visit.entryPage', rows: counted(data.entryPages) },
            { dimension: 'visit.exitPage', rows: counted(data.exitPages) },
          ]}
        />
        <WebLists
          title="Sources"
          name="sources"
          {...selection}
          lists={[
            { dimension: 'visit.channel', rows: counted(data.channels), nameOf: channelName },
            { dimension: 'visit.source', rows: counted(data.sources) },
            { dimension: 'visit.campaign', rows: counted(data.campaigns) },
          ]}
        />
        <WebLists
          title="Countries"
          name="places"
          {...selection}
          lists={[{ dimension: 'visit.country', rows: counted(data.countries), nameOf: formatCountry }]}
        />
        <WebLists
          title="Technology"
          name="technology"
          {...selection}
          lists={[
            { dimension: 'visit.browser', rows: counted(data.browsers) },
            { dimension: 'visit.os', rows: counted(data.operatingSystems) },
            { dimension: 'visit.device', rows: counted(data.devices), nameOf: deviceName },
          ]}
        />
        <Goals goals={data.goals} names={goalNames} />
      </div>
    </>
  )
}

/** Rows by their visits. */
const counted = <Row extends { visits: number }>(rows: readonly Row[]) =>
  rows.map((row) => ({ ...row, count: row.visits }))

const HOUR_MS = 3_600_000

const isHourly = ([first = '', second = '']: readonly string[]): boolean =>
  Date.parse(second) - Date.parse(first) === HOUR_MS

/** The filters that are on. */
export const WebChips = ({
  filters,
  onToggle,
  onClear,
}: {
  filters: readonly WebFilter[]
  onToggle: (filter: WebFilter) => void
  onClear: () => void
}) =>
  filters.length > 0 && (
    <ul aria-label="Filters" className="mb-4 flex flex-wrap items-center gap-2">
      {filters.map((filter) => (
        <li key={filter[0]}>
          <Button
            small
            icon="x"
            onClick={() => onToggle(filter)}
            aria-label={`Remove the filter ${DIMENSIONS[filter[0] as keyof typeof DIMENSIONS]}`}
          >
            <span className="text-muted">{DIMENSIONS[filter[0] as keyof typeof DIMENSIONS]}</span>{' '}
            <span className="max-w-60 truncate">{nameOfFilter(filter)}</span>
          </Button>
        </li>
      ))}
      <li>
        <Button small look="quiet" onClick={onClear}>
          Clear all
        </Button>
      </li>
    </ul>
  )

const Figure = ({
  metric,
  now,
  before,
  isShown,
  onShow,
}: {
  metric: Metric
  now: number
  before: number | undefined
  isShown: boolean
  onShow: () => void
}) => {
  const { title, format, lessIsBetter } = METRICS[metric]
  const change = before ? (now - before) / before : undefined
  const isGood = change !== undefined && (lessIsBetter ? change <= 0 : change >= 0)
  return (
    <button
      type="button"
      aria-pressed={isShown}
      onClick={onShow}
      className="rounded-xl border border-line bg-surface px-4 py-3 text-left shadow-card hover:bg-subtle aria-pressed:border-accent"
    >
      <span className="block text-muted">{title}</span>
      <span className="block text-[1.5rem] leading-tight font-semibold tracking-tight tabular-nums">
        {format(now)}
      </span>
      {change === undefined ? (
        <span className="block text-muted">nothing before</span>
      ) : (
        <span className={`block ${isGood ? 'text-accent-text' : 'text-warning'}`}>
          {change > 0 && '+'}
          {formatPercent(change)}
        </span>
      )}
    </button>
  )
}

const Chart = ({
  metric,
  at,
  now,
  before,
  isHourly: hourly,
}: {
  metric: Metric
  at: readonly string[]
  now: readonly Figures[]
  before: readonly Figures[]
  isHourly: boolean
}) => {
  const { title, format } = METRICS[metric]
  const timeZone = readerZone()
  const x = useMemo(() => at.map((time) => Date.parse(time) / 1000), [at])
  const series = useMemo(
    () => [
      { label: title, values: now.map((figures) => figures[metric]) },
      // As many as there are buckets, although months differ.
      ...(before.length > 0
        ? [{ label: 'Before', values: at.map((_, index) => before[index]?.[metric] ?? null) }]
        : []),
    ],
    [title, now, before, metric, at],
  )
  const lines = useMemo(
    () => series.map((one, color) => ({ ...one, color, format, dashed: color === 1 })),
    [series, format],
  )
  const times = new Intl.DateTimeFormat(undefined, {
    ...(hourly ? { dateStyle: 'medium', timeStyle: 'short' } : { dateStyle: 'medium' }),
    timeZone,
  })
  const formatX = (place: number) => times.format((x[place] ?? 0) * 1000)
  const label = `${title} over time`
  return (
    <>
      <Plot
        label={label}
        x={x}
        timeZone={timeZone}
        lines={lines}
        formatX={formatX}
        formatY={format}
        height={240}
      />
      <SeriesTable
        label={label}
        at={at}
        series={series}
        formatX={formatX}
        format={(value) => (value === null || value === undefined ? '–' : format(value))}
      />
    </>
  )
}

type Goal = WebData['goals'][number]

/** The event names of the project's metering selectors. */
const useGoalNames = () => {
  const projectId = useProjectId()
  return useQuery({
    queryKey: [projectId, 'goal-names'],
    queryFn: async () => {
      const selectors = await readAll<MeteringSelector>((cursor) =>
        unwrap(
          api.GET('/api/projects/{projectId}/metering-selectors', {
            params: { path: { projectId }, query: { limit: 100, ...cursor } },
          }),
        ),
      )
      return new Map(selectors.map(({ id, eventName }) => [id, eventName]))
    },
    staleTime: 60_000,
  })
}

const NoGoals = () => (
  <p className="text-muted">
    No conversions in this time.
    {!useIsShared() && ' Choose the events that count as one under Settings, Conversions.'}
  </p>
)

const Goals = ({
  goals,
  names,
}: {
  goals: readonly Goal[]
  names: ReadonlyMap<string, string> | undefined
}) => (
  <Card title="Goals" description="Conversions within visits" padded className="lg:col-span-2">
    {goals.length === 0 ? (
      <NoGoals />
    ) : (
      <table className="w-full" aria-label="Goals">
        <thead>
          <tr className="text-right text-muted">
            <th scope="col" className="pb-1 text-left font-normal">
              Event
            </th>
            {['Conversions', 'Rate', 'Revenue'].map((title) => (
              <th key={title} scope="col" className="pb-1 pl-3 font-normal">
                {title}
              </th>
            ))}
          </tr>
        </thead>
        <tbody>
          {goals.map(({ selectorId, conversions, conversionRate, revenue }) => (
            <tr key={selectorId} className="text-right tabular-nums">
              <td className="w-full max-w-0 truncate py-1 text-left">
                {names?.get(selectorId) ?? 'A removed conversion'}
              </td>
              <td className="py-1 pl-3">{formatNumber(conversions)}</td>
              <td className="py-1 pl-3">{formatPercent(conversionRate)}</td>
              <td className="py-1 pl-3 whitespace-nowrap">{formatRevenue(revenue)}</td>
            </tr>
          ))}
        </tbody>
      </table>
    )}
  </Card>
)

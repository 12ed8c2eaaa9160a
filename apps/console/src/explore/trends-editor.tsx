import { Button } from '../ui/button.tsx'
import { IntegerInput, Select, Switch } from '../ui/form.tsx'
import { Icon } from '../ui/icon.tsx'
import { Pick } from '../ui/pick.tsx'
import { BreakdownField, EventField, RangeFields, ZoneField } from './common-fields.tsx'
import { FilterFields } from './filter-fields.tsx'
import { useProperties } from './known-properties.ts'
import type { Interval, Metric, TrendSeries } from './query-types.ts'
import { INTERVALS, METRICS, needsProperty } from './query-url.ts'
import type { QueryState } from './use-query-state.ts'

const MAX_SERIES = 10

export const TrendsEditor = ({ state }: { state: QueryState<'trends'> }) => {
  const { query, range, change, setRange } = state
  const { series, interval, timeZone, breakdown, limit, compareTo, includeBots } = query
  const set = (index: number, changed: TrendSeries) => change({ series: series.with(index, changed) })
  return (
    <>
      {series.map((one, index) => (
        <SeriesFields
          // biome-ignore lint/suspicious/noArrayIndexKey: series have no identity, and their fields no state of their own
          key={index}
          number={index + 1}
          series={one}
          onChange={(changed) => set(index, changed)}
          {...(series.length > 1 && { onRemove: () => change({ series: series.toSpliced(index, 1) }) })}
        />
      ))}
      {series.length < MAX_SERIES && (
        <div>
          <Button small icon="plus" onClick={() => change({ series: [...series, { metric: 'events' }] })}>
            Add series
          </Button>
        </div>
      )}
      <BreakdownField
        eventName={series[0]?.eventName}
        value={breakdown}
        onChange={(property) => change({ breakdown: property, limit: undefined })}
      />
      {breakdown !== undefined && (
        <IntegerInput
          label="Groups at most"
          min={1}
          max={100}
          value={limit ?? 5}
          onCommit={(most) => change({ limit: most })}
        />
      )}
      <RangeFields range={range} onChange={(next) => next && setRange(next)} />
      <Select
        label="Interval"
        value={interval}
        onChange={(event) => change({ interval: event.target.value as Interval })}
        options={Object.entries(INTERVALS)}
      />
      <ZoneField zone={timeZone} onChange={(zone) => change({ timeZone: zone })} />
      <Switch
        label="Compare with the period before"
        checked={compareTo !== undefined}
        onChange={(checked) => change({ compareTo: checked ? 'previous_period' : undefined })}
      />
      <Switch
        label="Count bots as well"
        checked={includeBots === true}
        onChange={(checked) => change({ includeBots: checked || undefined })}
      />
    </>
  )
}

const SeriesFields = ({
  number,
  series,
  onChange,
  onRemove,
}: {
  number: number
  series: TrendSeries
  onChange: (series: TrendSeries) => void
  onRemove?: () => void
}) => {
  const { eventName, metric, property, filters = [] } = series
  const { numbers } = useProperties(eventName)
  // Undefined fields are omitted.
  const set = (fields: { [F in keyof TrendSeries]?: TrendSeries[F] | undefined }) =>
    onChange(
      Object.fromEntries(
        Object.entries({ ...series, ...fields }).filter(([, value]) => value !== undefined),
      ) as TrendSeries,
    )
  return (
    <fieldset className="flex min-w-0 flex-col gap-2.5 rounded-lg border border-line p-3">
      <legend className="px-1 font-semibold">Series {number}</legend>
      <EventField value={eventName ?? ''} onChange={(name) => set({ eventName: name || undefined })} />
      <Select
        label="Measure"
        value={metric}
        onChange={(event) => {
          const next = event.target.value as Metric
          set({ metric: next, ...(!needsProperty(next) && { property: undefined }) })
        }}
        options={Object.entries(METRICS).map(([name, label]) => [
          name,
          needsProperty(name as Metric) ? `${label} a property` : label,
        ])}
      />
      {needsProperty(metric) && (
        <Pick
          label="Number property"
          value={property ?? ''}
          options={numbers}
          placeholder="properties.total"
          onCommit={(next) => set({ property: next || undefined })}
        />
      )}
      <FilterFields
        eventName={eventName}
        filters={filters}
        onChange={(next) => set({ filters: next.length === 0 ? undefined : next })}
      />
      {onRemove && (
        <Button small look="quiet" className="self-start" onClick={onRemove}>
          <Icon name="trash" /> Remove series {number}
        </Button>
      )}
    </fieldset>
  )
}

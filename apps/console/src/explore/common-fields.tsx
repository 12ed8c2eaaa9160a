import { useEventNames } from '../api/known-events.ts'
import { fromLocalInput, Input, Select, toLocalInput } from '../ui/form.tsx'
import { Pick } from '../ui/pick.tsx'
import { useProperties } from './known-properties.ts'
import { PRESETS, type Preset, type Range, readerZone, resolveRange } from './time-range.ts'

/** Fields of a time range: a relative or an absolute one. `own` adds an option without a range, with that name. */
export const RangeFields = ({
  range,
  onChange,
  own,
}: {
  range: Range | undefined
  onChange: (range: Range | undefined) => void
  own?: string
}) => {
  const between = range && 'from' in range ? range : undefined
  const choose = (value: string) => {
    if (value === '') return onChange(undefined)
    if (value !== 'between') return onChange({ preset: value as Preset })
    onChange(resolveRange(range ?? { preset: '30d' }, readerZone()))
  }
  const set = (change: { from?: string; to?: string }) => {
    if (between) onChange({ ...between, ...change })
  }
  return (
    <>
      <Select
        label="Time range"
        value={between ? 'between' : range && 'preset' in range ? range.preset : ''}
        onChange={(event) => choose(event.target.value)}
        options={[
          ...(own === undefined ? [] : [['', own] as const]),
          ...Object.entries(PRESETS),
          ['between', 'Between two times'],
        ]}
      />
      {between && (
        <>
          <Input
            label="From"
            type="datetime-local"
            value={toLocalInput(between.from)}
            onChange={(event) => {
              const from = fromLocalInput(event.target.value)
              if (from) set({ from })
            }}
          />
          <Input
            label="To"
            type="datetime-local"
            value={toLocalInput(between.to)}
            onChange={(event) => {
              const to = fromLocalInput(event.target.value)
              if (to) set({ to })
            }}
          />
        </>
      )}
    </>
  )
}

/** The time zone of the query's days. */
export const ZoneField = ({
  zone,
  onChange,
}: {
  zone: string | undefined
  onChange: (zone: string | undefined) => void
}) => {
  const own = readerZone()
  const others = [...new Set(['UTC', ...(zone === undefined ? [] : [zone])])].filter((name) => name !== own)
  return (
    <Select
      label="Time zone"
      value={zone === own ? '' : (zone ?? '')}
      onChange={(event) => onChange(event.target.value || undefined)}
      options={[['', `${own} (yours)`], ...others.map((name) => [name, name] as const)]}
    />
  )
}

/** The name of an event, with suggestions. */
export const EventField = ({
  label = 'Event',
  value,
  onChange,
  placeholder = 'All events',
}: {
  label?: string
  value: string
  onChange: (name: string) => void
  placeholder?: string
}) => {
  const names = useEventNames()
  return <Pick label={label} value={value} options={names} placeholder={placeholder} onCommit={onChange} />
}

/** The property to group by. */
export const BreakdownField = ({
  eventName,
  value,
  onChange,
}: {
  eventName: string | undefined
  value: string | undefined
  onChange: (property: string | undefined) => void
}) => {
  const { names } = useProperties(eventName)
  return (
    <Pick
      label="Group by"
      placeholder="No groups"
      value={value ?? ''}
      options={names}
      onCommit={(property) => onChange(property || undefined)}
    />
  )
}

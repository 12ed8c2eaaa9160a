import { useMemo } from 'react'
import { formatNumber } from './format.tsx'
import { localZone } from './local-zone.ts'
import { Plot } from './plot.tsx'

type Series = { label: string; values: readonly (number | null)[] }

const HEIGHT = 220
/** The time zone of the reader. */
export const LOCAL_TIME_ZONE = localZone()

/** Daily counts as lines, and as a table for screen readers. Colors are those of `seriesColor`. */
export const TimeChart = ({
  label,
  at,
  series,
  timeZone = LOCAL_TIME_ZONE,
}: {
  label: string
  at: readonly string[]
  series: readonly Series[]
  timeZone?: string
}) => {
  const x = useMemo(() => at.map((time) => Date.parse(time) / 1000), [at])
  const lines = useMemo(() => series.map((one, color) => ({ ...one, color, format: formatNumber })), [series])
  const day = new Intl.DateTimeFormat(undefined, { dateStyle: 'medium', timeZone })
  const formatX = (index: number) => day.format((x[index] ?? 0) * 1000)
  return (
    <>
      <Plot label={label} x={x} timeZone={timeZone} lines={lines} formatX={formatX} height={HEIGHT} />
      <SeriesTable
        label={label}
        at={at}
        series={series}
        formatX={formatX}
        format={(value) => formatNumber(value ?? 0)}
      />
    </>
  )
}

/** The values of a chart, as a table for screen readers. */
export const SeriesTable = ({
  label,
  at,
  series,
  formatX,
  format,
}: {
  label: string
  at: readonly string[]
  series: readonly Series[]
  /** The text of a time by its place in `at`. */
  formatX: (index: number) => string
  format: (value: number | null | undefined) => string
}) => (
  <div className="sr-only">
    <table>
      <caption>{label}</caption>
      <thead>
        <tr>
          <th scope="col">Time</th>
          {series.map((one) => (
            <th key={one.label} scope="col">
              {one.label}
            </th>
          ))}
        </tr>
      </thead>
      <tbody>
        {at.map((time, index) => (
          <tr key={time}>
            <th scope="row">{formatX(index)}</th>
            {series.map((one) => (
              <td key={one.label}>{format(one.values[index])}</td>
            ))}
          </tr>
        ))}
      </tbody>
    </table>
  </div>
)

/** Parts of a whole, largest first. */
export const BarList = ({
  label,
  rows,
}: {
  label: string
  rows: readonly { name: string; value: number }[]
}) => {
  const most = Math.max(1, ...rows.map(({ value }) => value))
  if (rows.length === 0) return <p className="text-muted">Nothing yet.</p>
  return (
    <ul aria-label={label} className="flex flex-col gap-2">
      {rows.map(({ name, value }) => (
        <li key={name} className="flex flex-col gap-1">
          <span className="flex justify-between gap-3">
            <span title={name} className="truncate">
              {name}
            </span>
            <span className="tabular-nums">{formatNumber(value)}</span>
          </span>
          <progress
            aria-hidden="true"
            value={value}
            max={most}
            className="h-1.5 w-full overflow-hidden rounded-full [&::-moz-progress-bar]:bg-accent [&::-webkit-progress-bar]:bg-subtle [&::-webkit-progress-value]:rounded-full [&::-webkit-progress-value]:bg-accent"
          />
        </li>
      ))}
    </ul>
  )
}

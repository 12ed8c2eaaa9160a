import { useEffect, useRef } from 'react'
import UPlot from 'uplot'
import { formatCompact, formatNumber } from './format.tsx'

export type Series = { label: string; values: readonly (number | null)[] }

const COLORS = ['--accent', '--info', '--warning', '--danger', '--muted']
const HEIGHT = 220

const cssColor = (name: string): string =>
  getComputedStyle(document.documentElement).getPropertyValue(name).trim()

/** Values over time as lines, for eyes, and the same as a table for screen readers. */
export const TimeChart = ({
  label,
  at,
  series,
}: {
  label: string
  at: readonly string[]
  series: readonly Series[]
}) => {
  const place = useRef<HTMLDivElement>(null)
  useEffect(() => {
    const element = place.current
    if (!element) return
    let chart: UPlot | undefined
    const draw = () => {
      chart?.destroy()
      const axis = {
        stroke: cssColor('--muted'),
        font: '12px Inter Variable, sans-serif',
        grid: { stroke: cssColor('--line'), width: 1 },
        ticks: { show: false },
      }
      chart = new UPlot(
        {
          width: element.clientWidth,
          height: HEIGHT,
          legend: { show: false },
          cursor: { y: false, points: { size: 7 } },
          axes: [axis, { ...axis, size: 48, values: (_chart, values) => values.map(formatCompact) }],
          scales: { y: { range: (_chart, _low, high) => [0, Math.max(1, high * 1.1)] } },
          series: [
            {},
            ...series.map((one, index) => ({
              label: one.label,
              stroke: cssColor(COLORS[index % COLORS.length] ?? '--accent'),
              width: 2,
              points: { show: at.length < 32, size: 5 },
              ...(series.length === 1 && { fill: `${cssColor('--accent')}1f` }),
            })),
          ],
        },
        [at.map((time) => Date.parse(time) / 1000), ...series.map(({ values }) => [...values])],
        element,
      )
    }
    draw()
    const watch = new ResizeObserver(() => chart?.setSize({ width: element.clientWidth, height: HEIGHT }))
    watch.observe(element)
    addEventListener('themechange', draw)
    return () => {
      watch.disconnect()
      removeEventListener('themechange', draw)
      chart?.destroy()
    }
  }, [at, series])
  return (
    <figure aria-label={label}>
      <div ref={place} aria-hidden="true" className="h-[220px] w-full" />
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
                <th scope="row">{time}</th>
                {series.map((one) => (
                  <td key={one.label}>{formatNumber(one.values[index] ?? 0)}</td>
                ))}
              </tr>
            ))}
          </tbody>
        </table>
      </div>
    </figure>
  )
}

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
            <span className="truncate">{name}</span>
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

import { useEffect, useRef, useState } from 'react'
import UPlot from 'uplot'
import { formatCompact } from './format.tsx'
import { xRange } from './plot-range.ts'

export type PlotLine = {
  label: string
  values: readonly (number | null)[]
  /** The index of its color in `SERIES_COLORS`. */
  color: number
  dashed?: boolean
  /** Formats the value in the tooltip. */
  format: (value: number) => string
}

/** Color classes of the lines, for a legend. */
const SERIES_COLORS = [
  'bg-series-1',
  'bg-series-2',
  'bg-series-3',
  'bg-series-4',
  'bg-series-5',
  'bg-series-6',
  'bg-series-7',
  'bg-series-8',
]

/** The color class of the nth line. */
export const seriesColor = (index: number): string => SERIES_COLORS[index % SERIES_COLORS.length] ?? ''

/** Lines with a tooltip at the pointer. */
const MAX_NAMED = 12
/** Lines with fewer values are drawn with points. */
const MAX_POINTS = 62

const cssColor = (name: string): string =>
  getComputedStyle(document.documentElement).getPropertyValue(name).trim()
const lineColor = (index: number): string => cssColor(`--series-${(index % SERIES_COLORS.length) + 1}`)

/** What happened at a time. `x` is in the unit of the axis. */
export type PlotMark = { x: number; text: string }

type Props = {
  label: string
  /** Seconds since the epoch with a time zone, otherwise numbers. */
  x: readonly number[]
  timeZone?: string | undefined
  lines: readonly PlotLine[]
  formatX: (index: number) => string
  formatY?: (value: number) => string
  /** Receives the line and the index of a clicked point. */
  onPoint?: ((line: number, index: number) => void) | undefined
  /** Drawn as vertical lines, with their text in the tooltip. */
  marks?: readonly PlotMark[]
  height?: number
}

const NO_MARKS: readonly PlotMark[] = []

/** A line chart, hidden from screen readers, which read the table beside it. */
export const Plot = ({
  label,
  x,
  timeZone,
  lines,
  formatX,
  formatY,
  onPoint,
  marks = NO_MARKS,
  height = 260,
}: Props) => {
  const box = useRef<HTMLDivElement>(null)
  const [hovered, setHovered] = useState<{ index: number; left: number; width: number }>()
  const click = useRef(onPoint)
  click.current = onPoint
  const format = useRef(formatY)
  format.current = formatY
  const chartMarks = useRef(marks)
  const redraw = useRef(() => {})
  useEffect(() => {
    chartMarks.current = marks
    redraw.current()
  }, [marks])
  useEffect(() => {
    const element = box.current
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
          height,
          legend: { show: false },
          cursor: { y: false, points: { size: 8 }, drag: { setScale: false, x: false, y: false } },
          axes: [
            {
              ...axis,
              size: 34,
              values: (_chart, values) =>
                timeZone === undefined ? values.map(String) : timeLabels(values, timeZone),
              ...(timeZone === undefined && { incrs: [1, 2, 5, 10, 20] }),
            },
            {
              ...axis,
              // As wide as the longest label, of about 7 px a character.
              size: (_chart, labels) =>
                Math.max(56, 20 + 7 * Math.max(0, ...(labels ?? []).map(({ length }) => length))),
              values: (_chart, values) => values.map((value) => (format.current ?? formatCompact)(value)),
            },
          ],
          scales: {
            x: {
              time: timeZone !== undefined,
              range: (_chart, low, high) => xRange(low ?? 0, high ?? 0, timeZone !== undefined),
            },
            y: {
              range: (_chart, low, high) => [
                Math.min(0, low ?? 0),
                Math.max((high ?? 0) * 1.1, high ? 0 : 1),
              ],
            },
          },
          ...(timeZone !== undefined && {
            tzDate: (seconds: number) => UPlot.tzDate(new Date(seconds * 1000), timeZone),
          }),
          series: [
            {},
            ...lines.map(({ label: name, color, dashed }) => ({
              label: name,
              stroke: lineColor(color),
              width: 2,
              points: { show: x.length <= MAX_POINTS && !dashed, size: 5 },
              ...(dashed && { dash: [5, 5], width: 1.5 }),
              ...(lines.length === 1 && { fill: `${lineColor(color)}1f` }),
            })),
          ],
          hooks: {
            drawAxes: [(drawn) => drawMarks(drawn, chartMarks.current)],
            setCursor: [
              ({ cursor: { idx, left }, over }) =>
                setHovered(
                  idx == null || left == null || left < 0
                    ? undefined
                    : { index: idx, left: left + over.offsetLeft, width: element.clientWidth },
                ),
            ],
            ready: [
              (ready) =>
                ready.over.addEventListener('click', () => {
                  const found = nearestLine(ready)
                  if (found) click.current?.(found.line, found.index)
                }),
            ],
          },
        },
        [[...x], ...lines.map(({ values }) => [...values])],
        element,
      )
    }
    draw()
    redraw.current = () => chart?.redraw()
    const watch = new ResizeObserver(() => chart?.setSize({ width: element.clientWidth, height }))
    watch.observe(element)
    addEventListener('themechange', draw)
    return () => {
      watch.disconnect()
      removeEventListener('themechange', draw)
      chart?.destroy()
    }
  }, [x, timeZone, lines, height])
  return (
    <figure aria-label={label} className="relative min-w-0">
      <div
        ref={box}
        aria-hidden="true"
        // Reserves the space until the chart is drawn.
        style={{ minHeight: height }}
        className="w-full"
      />
      {hovered && (
        <div
          aria-hidden="true"
          style={
            hovered.left > hovered.width / 2
              ? { right: hovered.width - hovered.left + 14 }
              : { left: hovered.left + 14 }
          }
          className="pointer-events-none absolute top-3 z-10 max-w-64 rounded-lg border border-line bg-surface px-3 py-2 shadow-raised"
        >
          <p className="mb-1 text-muted">{formatX(hovered.index)}</p>
          {lines.slice(0, MAX_NAMED).map(({ label: name, values, color, format: read }) => (
            <p key={name} className="flex items-center gap-2">
              <span className={`size-2 shrink-0 rounded-full ${seriesColor(color)}`} />
              <span className="min-w-0 grow truncate">{name}</span>
              <span className="tabular-nums">{valueAt(values, hovered.index, read)}</span>
            </p>
          ))}
          {marksAt(marks, x, hovered.index).map(({ x: at, text }) => (
            <p key={`${at} ${text}`} className="mt-1 border-t border-line pt-1">
              {text}
            </p>
          ))}
        </div>
      )}
    </figure>
  )
}

/** The marks from a point to the next one. */
const marksAt = (marks: readonly PlotMark[], x: readonly number[], index: number): PlotMark[] =>
  marks.filter((mark) => mark.x >= (x[index] ?? 0) && mark.x < (x[index + 1] ?? Number.POSITIVE_INFINITY))

const drawMarks = ({ ctx, bbox, scales, valToPos }: UPlot, marks: readonly PlotMark[]): void => {
  const { min, max } = scales.x ?? {}
  ctx.save()
  ctx.strokeStyle = cssColor('--muted')
  ctx.lineWidth = devicePixelRatio
  ctx.setLineDash([2 * devicePixelRatio, 3 * devicePixelRatio])
  for (const { x } of marks) {
    if (min == null || max == null || x < min || x > max) continue
    const left = valToPos(x, 'x', true)
    ctx.beginPath()
    ctx.moveTo(left, bbox.top)
    ctx.lineTo(left, bbox.top + bbox.height)
    ctx.stroke()
  }
  ctx.restore()
}

const DAY_S = 86_400

/** Formats the times (s) of an axis, with only the parts that its span needs. */
const timeLabels = (times: readonly number[], timeZone: string): string[] => {
  const span = (times.at(-1) ?? 0) - (times[0] ?? 0)
  const options: Intl.DateTimeFormatOptions =
    span < 2 * DAY_S
      ? { hour: 'numeric', minute: '2-digit' }
      : span < 300 * DAY_S
        ? { day: 'numeric', month: 'short' }
        : { month: 'short', year: '2-digit' }
  const format = new Intl.DateTimeFormat(undefined, { ...options, timeZone })
  return times.map((seconds) => format.format(new Date(seconds * 1000)))
}

const valueAt = (values: PlotLine['values'], index: number, read: (value: number) => string): string => {
  const value = values[index]
  return value == null ? '–' : read(value)
}

/** The line whose value is nearest to the pointer. */
const nearestLine = (chart: UPlot): { line: number; index: number } | undefined => {
  const { idx, top } = chart.cursor
  if (idx == null || top == null) return undefined
  const distances = chart.data.slice(1).map((values) => {
    const value = values[idx]
    return value == null ? Number.POSITIVE_INFINITY : Math.abs(chart.valToPos(value, 'y') - top)
  })
  return { line: distances.indexOf(Math.min(...distances)), index: idx }
}

import { useMemo } from 'react'
import { LOCAL_TIME_ZONE, SeriesTable } from '../ui/chart.tsx'
import { formatPercent } from '../ui/format.tsx'
import { Plot } from '../ui/plot.tsx'
import type { Interval } from './lift-plot.tsx'

type Point = {
  at: string
  variants: readonly { variant: string; lift: number | null; sequentialInterval: Interval }[]
}

const TIME = new Intl.DateTimeFormat(undefined, { dateStyle: 'medium', timeStyle: 'short' })

/** The lift of each variant and its interval as they were known at earlier times, as lines and as a table for screen readers. */
export const LiftHistory = ({ label, history }: { label: string; history: readonly Point[] }) => {
  const x = useMemo(() => history.map(({ at }) => Date.parse(at) / 1000), [history])
  // The control comes first and has no lift.
  const variants = useMemo(
    () => (history[0]?.variants ?? []).slice(1).map(({ variant }) => variant),
    [history],
  )
  const lines = useMemo(
    () =>
      variants.flatMap((name, color) => {
        const points = history.map((point) => point.variants.find(({ variant }) => variant === name))
        const line = (what: string, values: (number | null)[], dashed: boolean) => ({
          label: `${name}${what}`,
          values,
          color,
          dashed,
          format: formatPercent,
        })
        return [
          line(
            '',
            points.map((one) => one?.lift ?? null),
            false,
          ),
          line(
            ', low',
            points.map((one) => one?.sequentialInterval?.[0] ?? null),
            true,
          ),
          line(
            ', high',
            points.map((one) => one?.sequentialInterval?.[1] ?? null),
            true,
          ),
        ]
      }),
    [history, variants],
  )
  const formatX = (index: number) => TIME.format((x[index] ?? 0) * 1000)
  return (
    <div className="px-4 pb-3">
      <Plot
        label={label}
        x={x}
        timeZone={LOCAL_TIME_ZONE}
        lines={lines}
        formatX={formatX}
        formatY={formatPercent}
        height={200}
      />
      <SeriesTable
        label={label}
        at={history.map(({ at }) => at)}
        series={lines}
        formatX={formatX}
        format={(value) => (value == null ? 'unknown' : formatPercent(value))}
      />
    </div>
  )
}

/** A confidence interval of a lift; null without one. */
export type Interval = readonly number[] | null

const WIDTH = 160
const HEIGHT = 20
const MARGIN = 4

/** The largest distance from 0 among intervals. */
export const scaleOf = (intervals: readonly Interval[]): number =>
  Math.max(0.01, ...intervals.flatMap((interval) => (interval ?? []).map(Math.abs)))

/** The place of a lift in the plot, with 0 in the middle. */
const placeOf = (lift: number, scale: number): number =>
  WIDTH / 2 + (Math.max(-1, Math.min(1, lift / scale)) * (WIDTH - 2 * MARGIN)) / 2

/** The intervals of a lift around a line at 0. Hidden from screen readers, which read the numbers beside it. */
export const LiftPlot = ({
  scale,
  lift,
  interval,
  sequential,
}: {
  scale: number
  lift: number | null
  interval: Interval
  sequential: Interval
}) => {
  const line = (range: Interval, strokeWidth: number) =>
    range && (
      <line
        x1={placeOf(range[0] ?? 0, scale)}
        x2={placeOf(range[1] ?? 0, scale)}
        y1={HEIGHT / 2}
        y2={HEIGHT / 2}
        stroke="currentColor"
        strokeWidth={strokeWidth}
      />
    )
  return (
    <svg
      aria-hidden="true"
      width={WIDTH}
      height={HEIGHT}
      viewBox={`0 0 ${WIDTH} ${HEIGHT}`}
      className="text-accent"
    >
      <line
        x1={WIDTH / 2}
        x2={WIDTH / 2}
        y1={0}
        y2={HEIGHT}
        stroke="currentColor"
        strokeDasharray="2 2"
        opacity={0.5}
      />
      {line(sequential, 1)}
      {line(interval, 5)}
      {lift !== null && <circle cx={placeOf(lift, scale)} cy={HEIGHT / 2} r={4} fill="currentColor" />}
    </svg>
  )
}

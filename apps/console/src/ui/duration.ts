const UNITS = [
  ['day', 86_400],
  ['hour', 3_600],
  ['minute', 60],
  ['second', 1],
  ['millisecond', 0.001],
] as const

/** A duration in its largest unit, such as "1.5 hr". */
export const formatDuration = (seconds: number): string => {
  const [unit, length] = UNITS.find(([, size]) => seconds >= size) ?? (['second', 1] as const)
  const options = { style: 'unit', unit, unitDisplay: 'short', maximumFractionDigits: 1 } as const
  return new Intl.NumberFormat(undefined, options).format(seconds / length)
}

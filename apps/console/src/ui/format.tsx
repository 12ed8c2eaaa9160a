const numbers = new Intl.NumberFormat()
const compact = new Intl.NumberFormat(undefined, { notation: 'compact', maximumFractionDigits: 1 })
const percents = new Intl.NumberFormat(undefined, { style: 'percent', maximumFractionDigits: 1 })
const percentages = new Intl.NumberFormat(undefined, { style: 'percent', maximumFractionDigits: 3 })
const times = new Intl.DateTimeFormat(undefined, { dateStyle: 'medium', timeStyle: 'medium' })
const days = new Intl.DateTimeFormat(undefined, { dateStyle: 'medium' })
const clock = new Intl.DateTimeFormat(undefined, { timeStyle: 'medium' })
const countries = new Intl.DisplayNames(undefined, { type: 'region' })
const relative = new Intl.RelativeTimeFormat(undefined, { numeric: 'auto' })

export const formatNumber = (value: number): string => numbers.format(value)
/** A count with its noun, such as "1 event" or "2 events". */
export const formatCount = (count: number, one: string, many = `${one}s`): string =>
  `${formatNumber(count)} ${count === 1 ? one : many}`
export const formatCompact = (value: number): string => compact.format(value)
/** A share between 0 and 1 as a percentage. */
export const formatPercent = (share: number): string => percents.format(share)
/** A number of percent as it was entered, such as 12.5. */
export const formatPercentage = (percent: number): string => percentages.format(percent / 100)

/** The name of a country by its ISO code, such as "Germany" for "DE". Other texts stay as they are. */
export const formatCountry = (code: string): string =>
  /^[A-Z]{2}$/.test(code) ? (countries.of(code) ?? code) : code

const UNITS: readonly [Intl.RelativeTimeFormatUnit, number][] = [
  ['day', 86_400_000],
  ['hour', 3_600_000],
  ['minute', 60_000],
  ['second', 1000],
]

const formatAgo = (ms: number): string => {
  const [unit, length] = UNITS.find(([, size]) => Math.abs(ms) >= size) ?? (['second', 1000] as const)
  return relative.format(-Math.trunc(ms / length), unit)
}

/** A time in the user's time zone. The tooltip has the full time, also in UTC. */
export const Time = ({ at, as = 'time' }: { at: string | null; as?: 'time' | 'day' | 'clock' | 'ago' }) => {
  if (at === null) return <span className="text-muted">–</span>
  const date = new Date(at)
  const text = {
    time: () => times.format(date),
    day: () => days.format(date),
    clock: () => clock.format(date),
    ago: () => formatAgo(Date.now() - date.getTime()),
  }[as]()
  return (
    <time
      dateTime={at}
      title={`${times.format(date)}\nUTC ${date.toISOString()}`}
      className="whitespace-nowrap tabular-nums"
    >
      {text}
    </time>
  )
}

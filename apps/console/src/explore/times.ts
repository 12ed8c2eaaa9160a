import type { Interval } from './query-types.ts'

const STYLES: Record<Interval, Intl.DateTimeFormatOptions> = {
  hour: { dateStyle: 'medium', timeStyle: 'short' },
  day: { dateStyle: 'medium' },
  week: { dateStyle: 'medium' },
  month: { month: 'long', year: 'numeric' },
}

/** Formats the start of an interval in a time zone. */
export const bucketText = (interval: Interval, timeZone: string): ((at: string) => string) => {
  const format = new Intl.DateTimeFormat(undefined, { ...STYLES[interval], timeZone })
  return (at) =>
    interval === 'week' ? `Week of ${format.format(new Date(at))}` : format.format(new Date(at))
}

import type { EnrichedEvent, StatsGroup, StatsInterval, StatsMetric } from '@waymark/contracts'

/** The store that statistics are computed from. */
export type Analytics = {
  /**
   * Stores events, and the conversions that they are when they are new, each once per (project, eventId), however often
   * they are given. Readable when this resolves.
   */
  storeEvents(events: readonly EnrichedEvent[]): Promise<void>
  /** How many events a project has between two times, `from` included and `to` not; by name when one is given. */
  countEvents(query: { projectId: string; from: Date; to: Date; eventName?: string }): Promise<number>
  /**
   * What a project's metric was over time, bots left out unless asked for. Groups beyond the greatest `MAX_GROUPS`
   * are one group together; those of visitors are compared by their events.
   */
  measure(query: MetricQuery): Promise<MetricRow[]>
  /** Takes events out; the conversions that they were stay, without saying whose. Erasing what is not there is fine. */
  eraseEvents(events: readonly { projectId: string; eventKey: string }[]): Promise<void>
}

/** Groups that a measurement tells apart. */
export const MAX_GROUPS = 100

/** What to measure: `from` included and `to` not. */
export type MetricQuery = {
  projectId: string
  metric: StatsMetric
  /** What a bucket is, in UTC; weeks begin on Monday. */
  interval: StatsInterval
  from: Date
  to: Date
  /** Only events, or conversions by events, of this name. */
  eventName?: string | undefined
  groupBy?: StatsGroup | undefined
  includeBots: boolean
}

/** One number. Where there was nothing there is no row. */
export type MetricRow = {
  /** The beginning of the bucket; `null` for the whole time that was asked for. */
  at: Date | null
  /** What the group has in common; `null` when that is unknown, or when nothing was grouped. */
  group: string | null
  /** Whether this is all that is in none of the greatest groups. */
  other: boolean
  /** Of revenue only; `null` when it is unknown. */
  currency: string | null
  /** A number of events, of visitors, of warnings or of conversions; of revenue the amount in minor units. */
  value: number
}

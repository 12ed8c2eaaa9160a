import { analyticsMetrics, type EnrichedEvent } from '@waymark/contracts'
import type { EventFilter, PropertyRef } from '@waymark/domain'

/**
 * The column store that questions about events are answered from. People are counted by profile: two profiles that were
 * merged are one person in all of the past. An event of nobody known counts as an event and as no person.
 * Every query may throw `QueryTimeoutError`, every write `AnalyticsDataError`, and each of them
 * `AnalyticsUnavailableError`.
 */
export type AnalyticsStore = AnalyticsWrites &
  AnalyticsQueries & {
    /** The queries, each of which the store stops once the signal aborts. It then rejects with the signal's reason. */
    queriesUntil(signal: AbortSignal): AnalyticsQueries
    close(): Promise<void>
  }

/** The writing half of the store. */
export type AnalyticsWrites = {
  /**
   * Stores events, each once per (project, eventId, timestamp). A repeat changes nothing, whatever differs in it.
   * They can be read when this resolves.
   */
  storeEvents(events: readonly EnrichedEvent[]): Promise<void>
  /** Stores what is known of people now. A profile that came with a later version already stays as it is. */
  storeProfiles(profiles: readonly AnalyticsProfile[]): Promise<void>
  /** Takes events out. The conversions that they were stay, without person and properties. Repeating it does no harm. */
  eraseEvents(events: readonly { projectId: string; eventKey: string }[]): Promise<void>
  /** Takes people out: their merges and traits. Repeating it does no harm. */
  eraseProfiles(profiles: readonly { projectId: string; profileId: string }[]): Promise<void>
}

/** The reading half of the store. */
export type AnalyticsQueries = {
  measureTrend(query: TrendQuery): Promise<TrendRow[]>
  measureFunnel(query: FunnelQuery): Promise<FunnelRow[]>
  measureRetention(query: RetentionQuery): Promise<RetentionRow[]>
  measurePaths(query: PathsQuery): Promise<PathRow[]>
  listProperties(query: PropertiesQuery): Promise<PropertyRow[]>
  listPropertyValues(query: PropertyValuesQuery): Promise<PropertyValueRow[]>
  /** The ids of people by their traits, the greatest first; of merged profiles only the one that they became. */
  findProfiles(query: ProfilesQuery): Promise<string[]>
}

/** The store does not answer or cannot write. Trying again later may help, and does no harm. */
export class AnalyticsUnavailableError extends Error {
  override name = 'AnalyticsUnavailableError'
  readonly code = 'ANALYTICS_UNAVAILABLE'
}

/** The store refuses these rows, so that trying again cannot help. */
export class AnalyticsDataError extends Error {
  override name = 'AnalyticsDataError'
}

/** A query took longer or needed more memory than the store allows; one over a shorter time may succeed. */
export class QueryTimeoutError extends Error {
  override name = 'QueryTimeoutError'
}

export type AnalyticsProfile = {
  projectId: string
  profileId: string
  /** The profile that this one was merged into. */
  mergedInto: string | null
  traits: Readonly<Record<string, unknown>>
  /** Grows with every change of the profile. */
  version: number
}

/** A time in ms; `from` included and `to` not. */
export type TimeRange = { from: number; to: number }

/** What trends are asked for, and what only `GET stats` has. */
export const trendMetrics = [...analyticsMetrics, 'visitors', 'warnings'] as const
export type TrendMetric = (typeof trendMetrics)[number]

/** What groups have in common: a property, or of conversions the selector. */
export type Breakdown = PropertyRef | { readonly source: 'selector' }

export type TrendQuery = TimeRange & {
  projectId: string
  metric: TrendMetric
  /** The number that `sum` to `p99` are of. */
  property?: PropertyRef | undefined
  /** The beginnings of all buckets in order, each a multiple of 15 minutes; the first may lie before `from`. */
  buckets: readonly number[]
  /** Only events of this name. */
  eventName?: string | undefined
  filters: readonly EventFilter[]
  breakdown?: Breakdown | undefined
  /** Groups that are told apart, the greatest; all others are one group. */
  maxGroups: number
  /** Groups that are told apart in place of the greatest. */
  groups?: readonly (string | null)[] | undefined
  includeBots: boolean
}

/** One number. Where there was nothing there is no row. */
export type TrendRow = {
  /** The place of the bucket; `null` for the whole time. */
  bucket: number | null
  /** `null` when the value is unknown, or when nothing was grouped. */
  group: string | null
  /** Whether this is all that is in none of the greatest groups. */
  other: boolean
  /** Of revenue only; `null` when it is unknown. */
  currency: string | null
  /** Revenue is in minor units of the currency. */
  value: number
}

export type Step = { eventName: string; filters: readonly EventFilter[] }

export type FunnelQuery = TimeRange & {
  projectId: string
  steps: readonly Step[]
  windowMs: number
  order: 'ordered' | 'any'
  breakdown?: PropertyRef | undefined
  maxGroups: number
}

/** People who came as far as a step, within one group. */
export type FunnelRow = {
  group: string | null
  other: boolean
  /** From 0. */
  step: number
  people: number
  /** Between this step and the one before it; `null` of the first, and when `order` is `any`. */
  medianMsFromPrevious: number | null
}

export type RetentionQuery = {
  projectId: string
  startEvent: string
  returnEvent: string
  /** The range in which people begin. */
  from: number
  to: number
  /** The beginnings of the intervals of cohorts and, after them, of their periods; the last number ends the last one. */
  bounds: readonly number[]
  cohorts: number
  periods: number
}

/** People of a cohort who came back in a period; `period` `null` is the size of the cohort. */
export type RetentionRow = { cohort: number; period: number | null; people: number }

export type PathsQuery = TimeRange & {
  projectId: string
  startEvent?: string | undefined
  endEvent?: string | undefined
  /** Steps of a path. */
  depth: number
  /** Links in the answer, the most frequent first. */
  limit: number
}

/** How many people went from one event or page, at step `step` (from 0), to the next. */
export type PathRow = { step: number; source: string; target: string; people: number }

export type PropertiesQuery = TimeRange & { projectId: string; eventName?: string | undefined; limit: number }

export type PropertyRow = {
  /** The key of the event's properties. */
  key: string
  types: ('string' | 'number' | 'boolean' | 'object' | 'array')[]
  /** Of the events that were looked at, 0 to 1. */
  share: number
  lastSeen: number
}

export type PropertyValuesQuery = TimeRange & {
  projectId: string
  property: PropertyRef
  eventName?: string | undefined
  /** Part of the value, whatever the case. */
  contains?: string | undefined
  limit: number
}

export type ProfilesQuery = {
  projectId: string
  /** Of traits only. */
  filters: readonly EventFilter[]
  /** How the trait `email` begins, whatever the case. */
  email?: string | undefined
  /** Only ids below this one. */
  below?: string | undefined
  limit: number
}

export type PropertyValueRow = { value: string; events: number }

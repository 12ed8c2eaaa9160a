import { analyticsMetrics } from '@waymark/contracts/http/analytics'
import type { EventView } from '@waymark/contracts/http/events'
import type { EnrichedEvent } from '@waymark/contracts/records/enriched-event'
import type { EventFilter, PropertyRef } from '@waymark/domain/analytics'
import type { CompiledSegment } from '@waymark/domain/decision'

/**
 * The column store that answers analytics queries. People are counted by profile: two merged profiles are one person in
 * all of the past. An event without a profile counts as an event and as no person.
 * Every query may throw `QueryTimeoutError`, every write `EventStoreDataError`, and each of them
 * `EventStoreUnavailableError`.
 */
export type EventStore = EventWrites &
  EventQueries & {
    /** The queries. The store stops a query once its signal aborts, and rejects with the signal's reason. */
    queriesUntil(signal: AbortSignal): EventQueries
    close(): Promise<void>
  }

/** The writer of the store. */
export type EventWrites = {
  /**
   * Stores events, each once per (project, eventId, timestamp). A repeat changes nothing, even if it differs.
   * They can be read when this resolves; from every replica of the store with `onAllReplicas`, which waits for the slowest.
   */
  storeEvents(events: readonly EnrichedEvent[], options?: { onAllReplicas?: boolean }): Promise<void>
  /**
   * Stores events that the store may have without what `readEvents` reads, because an earlier version wrote them. Others
   * are stored as by `storeEvents`.
   */
  completeEvents(events: readonly EnrichedEvent[]): Promise<void>
  /**
   * The names of the events under these keys that the store has, also of erased ones. Missing are those that it does not
   * have, and those that `completeEvents` has yet to complete.
   */
  findEventNames(keys: readonly EventKey[]): Promise<(EventKey & { eventName: string })[]>
  /** Stores the current traits and merges of people. A profile with a later version is not replaced. */
  storeProfiles(profiles: readonly StoredProfile[]): Promise<void>
  /** Deletes events. Their conversions remain without person and properties. Idempotent. */
  eraseEvents(events: readonly EventKey[]): Promise<void>
  /**
   * Deletes a project's events of the earliest day (UTC) that has some before `before` (in ms), with their conversions;
   * with `receivedBefore` (in ms), only those that were received before it.
   * @returns whether there were any
   */
  removeOldestDay(events: {
    projectId: string
    before: number
    receivedBefore?: number | undefined
  }): Promise<boolean>
  /**
   * Derives the visits of one day (UTC) of a project, so that queries need not read its events: the latest day with page
   * views that ended before `endedBefore` and was not derived yet, or has changed before `changedBefore` since (in ms).
   * Answers are the same before and after. Only one process at a time may call it.
   * @returns whether there was one
   */
  deriveVisits(due: { endedBefore: number; changedBefore: number }): Promise<boolean>
  /** Deletes people: their merges and traits. Idempotent. */
  eraseProfiles(profiles: readonly { projectId: string; profileId: string }[]): Promise<void>
}

export type EventKey = { projectId: string; eventKey: string }

/** The queries of the store. */
export type EventQueries = {
  measureTrend(query: TrendQuery): Promise<TrendRow[]>
  measureFunnel(query: FunnelQuery): Promise<FunnelRow[]>
  measureRetention(query: RetentionQuery): Promise<RetentionRow[]>
  measurePaths(query: PathsQuery): Promise<PathRow[]>
  /** Visits in all, by bucket and by each of `visitFields`, of which the fields have their most frequent values. */
  measureVisits(query: WebQuery): Promise<VisitRow[]>
  /** The pages that were viewed in visits, the most visited first. */
  measurePages(query: WebQuery): Promise<PageRow[]>
  /** The conversions in visits by selector, and their revenue by selector and by where the visit came from. */
  measureGoals(query: WebQuery): Promise<GoalRow[]>
  listProperties(query: PropertiesQuery): Promise<PropertyRow[]>
  listPropertyValues(query: PropertyValuesQuery): Promise<PropertyValueRow[]>
  /** The ids of people by their traits, the greatest first; of merged profiles only the one that they became. */
  findProfiles(query: ProfilesQuery): Promise<string[]>
  /** People in a segment: those with the greatest ids, in any order, and their number. */
  measureSegment(query: SegmentQuery): Promise<SegmentRow[]>
  /**
   * How often people had an event on each day (UTC), in the order of the ids that events were stored with; erased events are
   * left out.
   */
  countByPerson(query: PersonCountsQuery): Promise<PersonCount[]>
  /**
   * Samples people who have a moment in a range: those with the least ids, as many as the limits allow but at least one.
   * Ids are hashes, so this depends on nothing else about them. Erased events are left out.
   */
  sampleMoments(query: MomentsQuery): Promise<SampledMoments>
  /**
   * Reads events, the last received first, and of those received at the same time the one with the greatest key first.
   * Erased events and those that `completeEvents` has yet to complete are left out. Each portion is one statement, which
   * reads a range of receipts, so a portion may be empty. The range grows until it has events. The caller may stop after
   * any portion and continue later after its `next`.
   */
  readEvents(query: EventsQuery): AsyncGenerator<EventsPortion, void, undefined>
  /** As `readEvents`, but only where the events are. */
  readPlaces(query: EventsQuery): AsyncGenerator<PlacesPortion, void, undefined>
  /** The values of a number property of people's events in the order of `readEvents`; without `property`, each is 1. */
  readValues(query: ValuesQuery): AsyncGenerator<ValueRow[], void, undefined>
}

/** The store is unavailable or cannot write. A retry is safe and may succeed. */
export class EventStoreUnavailableError extends Error {
  override name = 'EventStoreUnavailableError'
  readonly code = 'ANALYTICS_UNAVAILABLE'
}

/** The store refuses these rows, so a retry cannot succeed. */
export class EventStoreDataError extends Error {
  override name = 'EventStoreDataError'
}

/** A query exceeded the store's limits of time, memory or rows. One with a shorter range may succeed. */
export class QueryTimeoutError extends Error {
  override name = 'QueryTimeoutError'
}

export type StoredProfile = {
  projectId: string
  profileId: string
  /** The profile that this one was merged into. */
  mergedInto: string | null
  traits: Readonly<Record<string, unknown>>
  /** Increases with every change of the profile. */
  version: number
}

/** Times in ms; `from` is inclusive and `to` exclusive. */
export type TimeRange = { from: number; to: number }

/** The metrics of trends, and those only of `GET stats`. */
export const trendMetrics = [...analyticsMetrics, 'visitors', 'warnings'] as const
export type TrendMetric = (typeof trendMetrics)[number]

/** What to group by: a property, or the selector of conversions. */
export type Breakdown = PropertyRef | { readonly source: 'selector' }

export type TrendQuery = TimeRange & {
  projectId: string
  metric: TrendMetric
  /** The number property of `sum` to `p99`. */
  property?: PropertyRef | undefined
  /** The beginnings of all buckets in order, each a multiple of 15 minutes; the first may lie before `from`. */
  buckets: readonly number[]
  /** Only events with this name. */
  eventName?: string | undefined
  filters: readonly EventFilter[]
  breakdown?: Breakdown | undefined
  /** Number of separate groups, the greatest ones; all others are one group. */
  maxGroups: number
  /** The separate groups instead of the greatest. */
  groups?: readonly (string | null)[] | undefined
  includeBots: boolean
}

/** One value. Empty buckets have no row. */
export type TrendRow = {
  /** The index of the bucket; `null` for the whole range. */
  bucket: number | null
  /** `null` when the value is unknown, or without groups. */
  group: string | null
  /** Whether this is the group of all others. */
  other: boolean
  /** Only for revenue; `null` when unknown. */
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

/** People of a group who reached a step. */
export type FunnelRow = {
  group: string | null
  other: boolean
  /** From 0. */
  step: number
  people: number
  /** From the previous step to this one; `null` for the first, and when `order` is `any`. */
  medianMsFromPrevious: number | null
}

export type RetentionQuery = {
  projectId: string
  startEvent: string
  returnEvent: string
  /** The range in which cohorts start. */
  from: number
  to: number
  /** The beginnings of the intervals of cohorts and, after them, of their periods; the last number ends the last one. */
  bounds: readonly number[]
  cohorts: number
  periods: number
}

/** People of a cohort who returned in a period; for the `period` `null`, the size of the cohort. */
export type RetentionRow = { cohort: number; period: number | null; people: number }

export type PathsQuery = TimeRange & {
  projectId: string
  startEvent?: string | undefined
  endEvent?: string | undefined
  /** Steps of a path. */
  depth: number
  /** Maximum links in the result, the most frequent first. */
  limit: number
}

/** The number of people who went from one event or page, at step `step` (from 0), to the next. */
export type PathRow = { step: number; source: string; target: string; people: number }

/** What describes a visit, beside its times and counts. All but the exit page are of its first page view. */
export const visitFields = [
  'channel',
  'source',
  'campaign',
  'entryPage',
  'exitPage',
  'country',
  'browser',
  'os',
  'device',
] as const
export type VisitField = (typeof visitFields)[number]

/** After this time without an event, in ms, the next one begins a visit if events name no session. */
export const VISIT_GAP_MS = 30 * 60_000
/** A visit of one page view that is shorter than this, in ms, is a bounce. */
export const BOUNCE_MS = 10_000

/**
 * A query about visits. A visit consists of the events of one visitor in the range that have the same session, or of
 * those without one that follow each other within 30 minutes; it has a page view at least. Events without a profile
 * belong to the visitor with their `visitorId`. Bots have no visits.
 */
export type WebQuery = TimeRange & {
  projectId: string
  /** As of a trend. A visit is in the bucket in which it begins. */
  buckets: readonly number[]
  /** Only visits with an event that matches all of them. */
  filters: readonly EventFilter[]
  /** Only visits whose fields match all of them. The property of the filter is not used. */
  visitFilters: readonly { field: VisitField; filter: EventFilter }[]
  /** Maximum values of each field, and maximum pages. With 0, visits are not measured by their fields, which takes most of the time. */
  limit: number
}

export type VisitRow = {
  kind: 'total' | 'bucket' | VisitField
  /** The index of the bucket as text, or the value of the field; `null` for the total, or when the value is unknown. */
  value: string | null
  /** Distinct visitors; `null` for the fields. */
  visitors: number | null
  visits: number
  views: number
  bounces: number
  /** Of all visits together. */
  durationMs: number
  /** Visits with a conversion. */
  converted: number
}

/** A page by its path; `null` when it is unknown. */
export type PageRow = { path: string | null; visitors: number; views: number }

/** Conversions of a selector, or revenue of one currency by a selector or by what brought the visit. */
export type GoalRow = {
  kind: 'selector' | 'channel' | 'source' | 'campaign'
  value: string | null
  /** `null` for the numbers of conversions and of visits, otherwise for `amount`. */
  currency: string | null
  conversions: number
  visits: number
  /** In minor units. */
  amount: number
}

export type PropertiesQuery = TimeRange & { projectId: string; eventName?: string | undefined; limit: number }

export type PropertyRow = {
  /** The key of the event's properties. */
  key: string
  types: ('string' | 'number' | 'boolean' | 'object' | 'array')[]
  /** The share of the examined events, 0 to 1. */
  share: number
  lastSeen: number
}

export type PropertyValuesQuery = TimeRange & {
  projectId: string
  property: PropertyRef
  eventName?: string | undefined
  /** A part of the value, ignoring case. */
  contains?: string | undefined
  limit: number
}

export type ProfilesQuery = {
  projectId: string
  /** Of traits only. */
  filters: readonly EventFilter[]
  /** The trait `email` begins with one of these, case-insensitive. */
  emails?: readonly string[] | undefined
  /** Only ids below this one. */
  below?: string | undefined
  limit: number
}

export type SegmentQuery = {
  projectId: string
  segment: Pick<CompiledSegment, 'match' | 'filters' | 'counts'>
  /** The time, in ms, that ends the days of counts. */
  now: number
  /** Only events before this time, in ms; of any time unless given. */
  to?: number | undefined
  /** Number of people to name: those with the greatest ids. */
  sample: number
}

/** A person of the sample; for the profile `null`, the number of all people. */
export type SegmentRow = { profileId: string | null; people: number }

export type PersonCountsQuery = {
  projectId: string
  eventName: string
  /** Only events since this time, in ms, that were received before the other one. */
  from: number
  receivedBefore: number
  /** Only people after this one. */
  after?: string | undefined
  /** Maximum people. */
  people: number
}

export type PersonCount = { profileId: string /** Such as `2026-11-27`. */; day: string; n: number }

/**
 * The moments of people: events from `from` to before `to` (in ms) that are of no bot and have the name, if one is given;
 * and all events of the counted names since `countedFrom`, also those of bots.
 */
export type MomentsQuery = TimeRange & {
  projectId: string
  eventName?: string | undefined
  countedEvents: readonly string[]
  countedFrom: number
  /** Maximum people, and events of all of them. */
  maxPeople: number
  maxMoments: number
}

/** An event of a person at its time, in ms. */
export type Moment = { profileId: string; at: number; eventName: string; bot: boolean }

/** The number of all people with a moment in the range, and the events of the sampled ones by person and time. */
export type SampledMoments = { people: number; moments: Moment[] }

/** The place of an event in the order of receipt, in ms. */
export type EventPlace = {
  receivedAt: number
  /** Without one, the place before all events that were received at this time. */
  eventKey?: string | undefined
}

export type ValuesQuery = Pick<EventsQuery, 'projectId' | 'eventName' | 'receivedFrom' | 'portion'> & {
  property?: PropertyRef | undefined
}

/** An event's value at its time (in ms) for the profile that it was stored with; `null` when it is no number. */
export type ValueRow = { profileId: string; at: number; value: number | null }

/** The place of one event. */
export type PlacedEvent = EventPlace & { eventKey: string }

/** Which events to read. All conditions must match. */
export type EventsQuery = {
  projectId: string
  /** By the time of the event, in ms; `to` is exclusive. */
  from?: number | undefined
  to?: number | undefined
  eventKeys?: readonly string[] | undefined
  eventName?: string | undefined
  visitorId?: string | undefined
  userId?: string | undefined
  /** The profiles that the events were stored with. */
  profileIds?: readonly string[] | undefined
  filters?: readonly EventFilter[] | undefined
  /** Only events below this place. */
  below?: EventPlace | undefined
  /** Only events received at this time (ms) or later. */
  receivedFrom?: number | undefined
  /** How long before its end the first range of receipts begins, in ms; 1 s by default. */
  firstRangeMs?: number | undefined
  /** Maximum events of a portion, asked before each one. */
  portion: () => number
}

/** An event as the API shows it, with its key. */
export type StoredEvent = EventView & { eventKey: string }

export type EventsPortion = {
  events: StoredEvent[]
  /** The place to continue below; `undefined` at the end. */
  next: EventPlace | undefined
}

export type PlacesPortion = Pick<EventsPortion, 'next'> & { places: PlacedEvent[] }

export type PropertyValueRow = { value: string; events: number }

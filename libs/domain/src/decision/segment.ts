import type { SegmentCondition, SegmentCountOperator } from '@waymark/contracts/http/segments'
import type { ValidationItem } from '@waymark/contracts/http/track-result'
import { type EventFilter, fulfils, parseFilter } from '../analytics/event-filter.ts'
import { valueAt } from '../analytics/property.ts'
import type { Cost, SegmentLookup } from '../logic/meter-logic.ts'
import { type DayCount, firstDayOf } from './condition.ts'

/** Bytes of the JSON of a segment's condition. */
export const MAX_SEGMENT_BYTES = 8 * 1024

/** A segment of a project: a named group of people for the conditions of rules. */
export type Segment = { key: string; condition: SegmentCondition }

/** A filter of a trait. */
export type TraitFilter = EventFilter & { readonly property: { readonly source: 'traits' } }
/** A comparison of the number of events in the last `days` (UTC), including today. */
export type SegmentCount = { eventName: string; days: number; op: SegmentCountOperator; value: number }

/** A compiled condition. */
export type CompiledSegment = {
  match: 'all' | 'any'
  filters: readonly TraitFilter[]
  counts: readonly SegmentCount[]
  /** The cost of one evaluation. */
  cost: Cost
}

/** Why a condition may not be saved. `field` is its path in the request. */
export const segmentProblems = (condition: SegmentCondition, field: string): ValidationItem[] => {
  const { filters = [], counts = [] } = condition
  if (filters.length + counts.length === 0)
    return [{ field, rule: 'minItems', message: 'needs at least one item in filters or counts' }]
  const bytes = Buffer.byteLength(JSON.stringify(condition))
  if (bytes > MAX_SEGMENT_BYTES)
    return [
      { field, rule: 'max_size', message: `is ${bytes} bytes; at most ${MAX_SEGMENT_BYTES} are allowed` },
    ]
  return filters.flatMap((request, index) => {
    const filter = parseFilter(request)
    const at = `${field}.filters.${index}`
    if ('message' in filter)
      return [{ field: `${at}.${filter.field}`, rule: 'filter', message: filter.message }]
    return isOfTrait(filter)
      ? []
      : [{ field: `${at}.property`, rule: 'property', message: 'must be traits.<path>' }]
  })
}

const isOfTrait = (filter: EventFilter): filter is TraitFilter => filter.property.source === 'traits'

/** Compiles a segment. @throws Error when `segmentProblems` has any for its condition */
export const compileSegment = ({ condition }: Pick<Segment, 'condition'>): CompiledSegment => {
  const [problem] = segmentProblems(condition, 'condition')
  if (problem) throw new Error(`${problem.field} ${problem.message}`)
  const { match = 'all', counts = [] } = condition
  const filters = (condition.filters ?? [])
    .map(parseFilter)
    .filter((filter): filter is TraitFilter => 'property' in filter && isOfTrait(filter))
  return { match, filters, counts, cost: costOf(filters, counts) }
}

/** Each value is compared with a text that may be the longest one, and each count adds up days. */
const costOf = (filters: readonly TraitFilter[], counts: readonly SegmentCount[]): Cost => ({
  flat: 1 + filters.length + counts.reduce((steps, { days }) => steps + days, 0),
  text: filters.reduce((texts, filter) => {
    if (filter.test === 'exists') return texts
    if (filter.test === 'in') return texts + filter.values.length
    // A repetitive text may be compared with the whole part at each position.
    return texts + (filter.test === 'contains' ? Math.max(1, filter.value.length) : 1)
  }, 0),
})

/** What a segment tests of a person. `countOf` is the number of events in the last `days`, including today. */
export type SegmentPerson = {
  traits: Readonly<Record<string, unknown>>
  countOf: (eventName: string, days: number) => number
}

/** Whether a person is in a segment. */
export const isInSegment = (
  { match, filters, counts }: Pick<CompiledSegment, 'match' | 'filters' | 'counts'>,
  person: SegmentPerson,
): boolean => {
  const fits = (filter: TraitFilter) => fulfils(valueAt(person.traits, filter.property.path), filter)
  const counted = ({ eventName, days, op, value }: SegmentCount) =>
    COMPARE[op](person.countOf(eventName, days), value)
  return match === 'all'
    ? filters.every(fits) && counts.every(counted)
    : filters.some(fits) || counts.some(counted)
}

const COMPARE: Record<SegmentCountOperator, (a: number, b: number) => boolean> = {
  eq: (a, b) => a === b,
  gt: (a, b) => a > b,
  gte: (a, b) => a >= b,
  lt: (a, b) => a < b,
  lte: (a, b) => a <= b,
}

/** The segments of a project. Each is compiled on first use. */
export type SegmentSet = {
  /** All segments, the oldest first. */
  all: readonly Segment[]
  get: (key: string) => CompiledSegment | undefined
  /** The events that a segment counts. */
  eventsOf: (key: string) => readonly string[]
  /** The events that any segment counts. */
  events: readonly string[]
}

/** The events that a segment's condition counts. */
export const eventsCountedBy = ({ counts = [] }: SegmentCondition): string[] =>
  counts.map(({ eventName }) => eventName)

/** `compile` should cache its results. A segment is unknown when it returns `undefined`. */
export const createSegmentSet = (
  segments: readonly Segment[],
  compile: (segment: Segment) => CompiledSegment | undefined,
): SegmentSet => {
  const byKey = new Map(segments.map((segment) => [segment.key, segment]))
  const compiled = new Map<string, CompiledSegment | undefined>()
  return {
    all: segments,
    get: (key) => {
      const segment = byKey.get(key)
      if (segment && !compiled.has(key)) compiled.set(key, compile(segment))
      return compiled.get(key)
    },
    eventsOf: (key) => {
      const segment = byKey.get(key)
      return segment ? eventsCountedBy(segment.condition) : []
    },
    events: segments.flatMap(({ condition }) => eventsCountedBy(condition)),
  }
}

export const NO_SEGMENTS = createSegmentSet([], () => undefined)

type Member = { traits: Readonly<Record<string, unknown>>; days: readonly DayCount[]; now: number }

/** Looks up whether a person is in segments. Each segment is evaluated once at most, when a condition first reads it. */
export const createSegmentLookup = (
  segments: Pick<SegmentSet, 'get'>,
  { traits, days, now }: Member,
): SegmentLookup => {
  let byEvent: Map<string, DayCount[]> | undefined
  const countOf = (eventName: string, window: number): number => {
    byEvent ??= Map.groupBy(days, ({ event }) => event)
    const first = firstDayOf(window, now)
    return (byEvent.get(eventName) ?? []).reduce((sum, { day, n }) => (day >= first ? sum + n : sum), 0)
  }
  const known = new Map<string, boolean>()
  return (key) => {
    const before = known.get(key)
    if (before !== undefined) return { cost: NO_COST, holds: () => before }
    const segment = segments.get(key)
    if (segment === undefined) return undefined
    const holds = (): boolean => {
      const isMember = isInSegment(segment, { traits, countOf })
      known.set(key, isMember)
      return isMember
    }
    return { cost: segment.cost, holds }
  }
}

const NO_COST: Cost = { flat: 0, text: 0 }

import type { FunnelRequest, FunnelView } from '@waymark/contracts/http/analytics'
import { DEFAULT_ANALYTICS_GROUPS } from '@waymark/contracts/http/analytics-parts'
import type { FunnelQuery, FunnelRow } from '@waymark/event-store'
import { readFilters, readProperty, requireFewValues } from './read-filters.ts'
import type { QueryStore } from './run-queries.ts'
import { readRange } from './time-range.ts'

/** Reads a funnel query. @throws AppError unprocessable with the invalid field */
export const readFunnel = (request: FunnelRequest): Omit<FunnelQuery, 'projectId'> => {
  const { steps, windowSeconds, breakdown, order = 'ordered', limit = DEFAULT_ANALYTICS_GROUPS } = request
  requireFewValues(
    'steps',
    steps.map(({ filters }) => filters),
  )
  return {
    ...readRange(request),
    steps: steps.map(({ eventName, filters }, index) => ({
      eventName,
      filters: readFilters(`steps.${index}.filters`, filters),
    })),
    windowMs: windowSeconds * 1_000,
    order,
    breakdown: breakdown === undefined ? undefined : readProperty('breakdown', breakdown),
    maxGroups: limit,
  }
}

/** Runs a funnel query. The medians of all people do not follow from those of groups, so both are queried. */
export const answerFunnel = async (
  queryStore: QueryStore,
  projectId: string,
  query: Omit<FunnelQuery, 'projectId'>,
): Promise<FunnelView> => {
  const names = query.steps.map(({ eventName }) => eventName)
  const all = await queryStore((store) => store.measureFunnel({ projectId, ...query, breakdown: undefined }))
  const steps = stepsOf(names, all)
  if (query.breakdown === undefined) return { steps }
  const rows = await queryStore((store) => store.measureFunnel({ projectId, ...query }))
  const groups = [
    ...Map.groupBy(rows, ({ group, other }) => JSON.stringify([group, other])).values(),
  ].flatMap((own) =>
    own.slice(0, 1).map(({ group, other }) => ({ group, other, steps: stepsOf(names, own) })),
  )
  const peopleOf = (group: (typeof groups)[number]): number => group.steps[0]?.people ?? 0
  return {
    steps,
    groups: groups.sort((a, b) => Number(a.other) - Number(b.other) || peopleOf(b) - peopleOf(a)),
  }
}

const stepsOf = (names: readonly string[], rows: readonly FunnelRow[]): FunnelView['steps'] => {
  const people = names.map((_, step) => rows.find((row) => row.step === step)?.people ?? 0)
  return names.map((eventName, step) => {
    const own = people[step] ?? 0
    const median = rows.find((row) => row.step === step)?.medianMsFromPrevious ?? null
    return {
      eventName,
      people: own,
      rateFromFirst: rate(own, people[0] ?? 0),
      rateFromPrevious: rate(own, people[Math.max(0, step - 1)] ?? 0),
      medianSecondsFromPrevious: median === null ? null : median / 1_000,
    }
  })
}

const rate = (part: number, whole: number): number => (whole === 0 ? 0 : part / whole)

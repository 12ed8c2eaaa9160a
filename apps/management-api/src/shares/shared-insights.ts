import type { FunnelView, PathsView, TrendsView } from '@waymark/contracts/http/analytics'
import type { InsightKind } from '@waymark/contracts/http/insights'
import { MIN_SHARED_PEOPLE, type SharedQuery } from '@waymark/contracts/http/shares'
import type { PropertyRef } from '@waymark/domain/analytics'
import { answerFunnel, readFunnel } from '../analytics/funnel.ts'
import { answerPaths, readPaths } from '../analytics/paths.ts'
import { answerRetention, readRetention } from '../analytics/retention.ts'
import type { QueryStore } from '../analytics/run-queries.ts'
import { answerTrends, readTrends } from '../analytics/trends.ts'

type Saved = { kind: InsightKind; query: unknown }
type Answer = (queryStore: QueryStore, projectId: string) => Promise<object>
type Shared = { from: number; to: number; answer: Answer }

/** Traits that tell who a person is. No value of them is shown, however many people have it. */
const NAMING_TRAITS = new Set(['email', 'phone', 'name'])

/**
 * Reads a saved query with the range of a visitor. Its answer has no value that few people have.
 * @throws AppError unprocessable with the invalid field
 */
export const readSharedInsight = ({ kind, query }: Saved, asked: SharedQuery): Shared =>
  READERS[kind](query, asked)

// Insights are validated when they are saved.
const READERS: Record<InsightKind, (query: unknown, asked: SharedQuery) => Shared> = {
  trends: (query, asked) => {
    const plan = readTrends({ ...(query as Parameters<typeof readTrends>[0]), ...asked })
    return {
      ...plan.period,
      answer: async (store, projectId) => ({ trends: await answerSharedTrends(store, projectId, plan) }),
    }
  },
  funnel: (query, { from, to }) => {
    const plan = readFunnel({ ...(query as Parameters<typeof readFunnel>[0]), from, to })
    const namesPeople = plan.breakdown !== undefined && isNaming(plan.breakdown)
    return {
      ...plan,
      answer: async (store, projectId) => ({
        funnel: withoutSmallGroups(await answerFunnel(store, projectId, plan), namesPeople),
      }),
    }
  },
  retention: (query, { interval, ...asked }) => {
    const plan = readRetention({
      ...(query as Parameters<typeof readRetention>[0]),
      ...asked,
      ...(interval !== undefined && interval !== 'hour' && { interval }),
    })
    return {
      ...plan,
      answer: async (store, projectId) => ({ retention: await answerRetention(store, projectId, plan) }),
    }
  },
  paths: (query, { from, to }) => {
    const plan = readPaths({ ...(query as Parameters<typeof readPaths>[0]), from, to })
    return {
      ...plan,
      answer: async (store, projectId) => ({
        paths: withoutRareLinks(await answerPaths(store, projectId, plan)),
      }),
    }
  },
}

const isNaming = (property: PropertyRef): boolean =>
  property.source === 'traits' && NAMING_TRAITS.has(property.path[0] ?? '')

type TrendsPlan = ReturnType<typeof readTrends>
type SeriesPlan = TrendsPlan['series'][number]

/** Runs a trend query whose groups are only values that enough people have. All others are one group. */
const answerSharedTrends = async (
  queryStore: QueryStore,
  projectId: string,
  plan: TrendsPlan,
): Promise<TrendsView> => {
  const series: SeriesPlan[] = []
  for (const one of plan.series) {
    const groups = await groupsToShow(queryStore, projectId, plan, one)
    series.push(groups ? { ...one, query: { ...one.query, groups } } : one)
  }
  return answerTrends(queryStore, projectId, { ...plan, series })
}

/** Undefined without a breakdown. */
const groupsToShow = async (
  queryStore: QueryStore,
  projectId: string,
  { period }: TrendsPlan,
  { query }: SeriesPlan,
): Promise<(string | null)[] | undefined> => {
  const { breakdown } = query
  if (breakdown === undefined) return undefined
  if (breakdown.source !== 'selector' && isNaming(breakdown)) return [null]
  const measured = await queryStore((store) => store.measureTrend({ projectId, ...period, ...query }))
  const groups = new Set(measured.filter(({ other }) => !other).map(({ group }) => group))
  const counted = { ...query, metric: 'people' as const, property: undefined, groups: [...groups] }
  const people = await queryStore((store) => store.measureTrend({ projectId, ...period, ...counted }))
  const frequent = people
    .filter(({ bucket, other, value }) => bucket === null && !other && value >= MIN_SHARED_PEOPLE)
    .map(({ group }) => group)
  return [...new Set([null, ...frequent])]
}

const withoutSmallGroups = ({ steps, groups }: FunnelView, hidesValues: boolean): FunnelView => ({
  steps,
  ...(groups && {
    groups: groups.filter(
      ({ group, other, steps: [first] }) =>
        group === null || other || (!hidesValues && (first?.people ?? 0) >= MIN_SHARED_PEOPLE),
    ),
  }),
})

/** Links name pages, whose paths may contain ids. */
const withoutRareLinks = ({ nodes, links }: PathsView): PathsView => {
  const frequent = links.filter(({ people }) => people >= MIN_SHARED_PEOPLE)
  const shown = new Set(frequent.flatMap(({ source, target }) => [source, target]))
  return { nodes: nodes.filter(({ id }) => shown.has(id)), links: frequent }
}

/** A saved query without filters, whose values may name people. */
export const withoutFilters = (query: unknown): Record<string, unknown> => {
  const shown = { ...(query as Record<string, unknown>) }
  for (const name of ['series', 'steps']) {
    const items = shown[name]
    if (Array.isArray(items)) shown[name] = items.map(({ filters: _, ...item }) => item)
  }
  return shown
}

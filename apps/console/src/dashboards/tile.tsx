import { useQuery } from '@tanstack/react-query'
import type { ReactNode } from 'react'
import { api, unwrap } from '../api/client.ts'
import { useMay, useProjectId } from '../api/session.ts'
import type { Insight } from '../api/types.ts'
import { FunnelBars } from '../explore/funnel-result.tsx'
import { InsightLink } from '../explore/insight-link.tsx'
import { PathsChart, PathsTable } from '../explore/paths-result.tsx'
import type { Kind, Queries } from '../explore/query-types.ts'
import { readSaved, validQueryOf } from '../explore/query-url.ts'
import { RetentionChart, RetentionTable } from '../explore/retention-result.tsx'
import { type QueryResult, useQueryResult, zoneOf } from '../explore/run-query.ts'
import { DEFAULT_RANGE, fitInterval, type Range, resolveRange } from '../explore/time-range.ts'
import { TrendsChart, TrendsTotals } from '../explore/trends-result.tsx'
import { Button } from '../ui/button.tsx'
import { ErrorState, SkeletonLines } from '../ui/states.tsx'
import { TableScope } from '../ui/table.tsx'

/** Height of a chart on a tile, in pixels. */
const HEIGHT = 200

/** The maximum number of intervals in the API. */
const MAX_BUCKETS = 400
const MAX_COHORTS = 60

/** The result of an insight as a tile shows it. */
export const tileViews: { readonly [K in Kind]: (result: QueryResult<K>) => ReactNode } = {
  trends: (result) => (
    <>
      <div className="px-4">
        <TrendsChart result={result} height={HEIGHT} />
      </div>
      <TrendsTotals result={result} />
    </>
  ),
  funnel: (result) => (
    <div className="px-4 pb-4">
      <FunnelBars result={result} />
    </div>
  ),
  retention: (result) => (
    <>
      <div className="px-4">
        <RetentionChart result={result} height={HEIGHT} />
      </div>
      <RetentionTable result={result} />
    </>
  ),
  paths: (result) => (
    <>
      <div className="px-4">
        <PathsChart result={result} />
      </div>
      <PathsTable result={result} />
    </>
  ),
}

export const tileClass =
  'flex min-w-0 flex-col overflow-hidden rounded-xl border border-line bg-surface shadow-card'

type Props = {
  insightId: string
  /** Replaces the insight's own range. */
  range: Range | undefined
  onRemove: () => void
  onEarlier?: () => void
  onLater?: () => void
}

/** An insight with its response. */
export const Tile = ({ insightId, range, onRemove, onEarlier, onLater }: Props) => {
  const projectId = useProjectId()
  const mayEdit = useMay('editor')
  const insight = useQuery({
    queryKey: [projectId, 'insight', insightId],
    queryFn: () =>
      unwrap(
        api.GET('/api/projects/{projectId}/insights/{id}', {
          params: { path: { projectId, id: insightId } },
        }),
      ),
  })
  const name = insight.data?.name ?? 'insight'
  return (
    <li className={tileClass}>
      <header className="flex flex-wrap items-center justify-between gap-x-4 gap-y-2 px-4 pt-3.5 pb-2.5">
        <h2 className="min-w-0">{insight.data && <InsightLink insight={insight.data} range={range} />}</h2>
        {mayEdit && (
          <div className="-mr-2 flex">
            {onEarlier && (
              <Button small look="quiet" icon="up" aria-label={`Move ${name} up`} onClick={onEarlier} />
            )}
            {onLater && (
              <Button small look="quiet" icon="chevron" aria-label={`Move ${name} down`} onClick={onLater} />
            )}
            <Button small look="quiet" icon="x" aria-label={`Remove ${name}`} onClick={onRemove} />
          </div>
        )}
      </header>
      <div className="min-h-0 min-w-0 grow">
        {insight.error ? (
          <ErrorState error={insight.error} retry={() => void insight.refetch()} />
        ) : insight.data ? (
          <TableScope value={insightId}>
            <TileResult
              key={insight.data.kind}
              insight={insight.data}
              kind={insight.data.kind}
              range={range}
            />
          </TableScope>
        ) : (
          <SkeletonLines />
        )}
      </div>
    </li>
  )
}

/** A query with intervals that are long enough for another range. */
export const fittedQuery = <K extends Kind>(kind: K, query: Queries[K], range: Range): Queries[K] => {
  if (!('interval' in query)) return query
  const period = resolveRange(range, zoneOf(query))
  const max = kind === 'trends' ? MAX_BUCKETS : MAX_COHORTS
  return { ...query, interval: fitInterval(query.interval, period, max) }
}

const TileResult = <K extends Kind>({
  insight,
  kind,
  range: chosen,
}: {
  insight: Insight
  kind: K
  range: Range | undefined
}) => {
  const saved = readSaved(kind, insight.query)
  const range = chosen ?? saved.range ?? DEFAULT_RANGE
  const response = useQueryResult(kind, validQueryOf(kind, fittedQuery(kind, saved.query, range)), range)
  if (response.error && !response.isFetching)
    return <ErrorState error={response.error} retry={() => void response.refetch()} />
  if (!response.data) return <SkeletonLines />
  return tileViews[kind](response.data)
}

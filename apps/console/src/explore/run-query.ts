import { type UseQueryOptions, type UseQueryResult, useQuery } from '@tanstack/react-query'
import pLimit from 'p-limit'
import { ApiError, api, unwrap } from '../api/client.ts'
import { useProjectId } from '../api/session.ts'
import type { Kind, Queries, Results } from './query-types.ts'
import { type Range, readerZone, resolveRange } from './time-range.ts'

/** Concurrent queries of this page. A project may run four, and others may use some. */
export const atATime = pLimit(2)

/** Whether the API refused the query because the project is busy. */
const isBusy = (error: unknown): boolean => error instanceof ApiError && error.status === 429

/** Number of retries for a busy project, and the delay, in ms. */
export const whenBusy = {
  retry: (count: number, error: Error) =>
    isBusy(error) ? count < 5 : count < 2 && error instanceof ApiError && error.status === 0,
  retryDelay: (count: number) => 500 * 2 ** count,
}

type Period = { from: string; to: string }

/** A query with its result. */
export type QueryResult<K extends Kind> = { query: Queries[K]; range: Period; data: Results[K] }

const requests: {
  readonly [K in Kind]: (
    projectId: string,
    body: Queries[K] & Period,
    signal: AbortSignal,
  ) => Promise<Results[K]>
} = {
  trends: (projectId, body, signal) =>
    unwrap(
      api.POST('/api/projects/{projectId}/analytics/trends', {
        params: { path: { projectId } },
        body,
        signal,
      }),
    ),
  funnel: (projectId, body, signal) =>
    unwrap(
      api.POST('/api/projects/{projectId}/analytics/funnel', {
        params: { path: { projectId } },
        body,
        signal,
      }),
    ),
  retention: (projectId, body, signal) =>
    unwrap(
      api.POST('/api/projects/{projectId}/analytics/retention', {
        params: { path: { projectId } },
        body,
        signal,
      }),
    ),
  paths: (projectId, body, signal) =>
    unwrap(
      api.POST('/api/projects/{projectId}/analytics/paths', {
        params: { path: { projectId } },
        body,
        signal,
      }),
    ),
}

/** The time zone of the query. */
export const zoneOf = (query: { timeZone?: string } | object): string =>
  'timeZone' in query && typeof query.timeZone === 'string' ? query.timeZone : readerZone()

/**
 * The result of a query; without a query there is no request. The last result of the project stays until the next one
 * arrives.
 *
 * @param refresh when the result is read again
 */
export const useQueryResult = <K extends Kind>(
  kind: K,
  query: Queries[K] | undefined,
  range: Range,
  refresh: Pick<UseQueryOptions<QueryResult<K>>, 'staleTime' | 'refetchInterval'> = { staleTime: 30_000 },
): UseQueryResult<QueryResult<K>> => {
  const projectId = useProjectId()
  return useQuery({
    queryKey: [projectId, 'query-result', kind, query, range],
    enabled: query !== undefined,
    queryFn: ({ signal }) =>
      atATime(async () => {
        signal.throwIfAborted()
        const enabled = query as Queries[K]
        const period = resolveRange(range, zoneOf(enabled))
        const data = await requests[kind](projectId, { ...enabled, ...period }, signal)
        return { query: enabled, range: period, data }
      }),
    placeholderData: (last, query) => (query?.queryKey[0] === projectId ? last : undefined),
    ...refresh,
    ...whenBusy,
  })
}

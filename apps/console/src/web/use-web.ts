import { useQuery } from '@tanstack/react-query'
import { api, unwrap } from '../api/client.ts'
import { useProjectId } from '../api/session.ts'
import { atATime, whenBusy } from '../explore/run-query.ts'
import { type Range, readerZone, resolveRange, usualInterval } from '../explore/time-range.ts'
import { requestFilters, type WebFilter } from './web-filters.ts'

const REFRESH_MS = 30_000
/** While the first page view is awaited. */
const FIRST_VIEW_MS = 2_000

/** Asks for the visits of a range in the reader's time zone, beside those of the range before. */
export const webRequest = (range: Range, filters: readonly WebFilter[]) => {
  const timeZone = readerZone()
  return {
    ...resolveRange(range, timeZone),
    timeZone,
    interval: usualInterval(range),
    compareTo: 'previous_period' as const,
    filters: requestFilters(filters),
  }
}

/** The visits of a range, read again while the page is open. The last ones stay until the next arrive. */
export const useWeb = (range: Range, filters: readonly WebFilter[]) => {
  const projectId = useProjectId()
  return useQuery({
    queryKey: [projectId, 'web', range, filters],
    queryFn: ({ signal }) =>
      atATime(() =>
        unwrap(
          api.POST('/api/projects/{projectId}/analytics/web', {
            params: { path: { projectId } },
            body: webRequest(range, filters),
            signal,
          }),
        ),
      ),
    placeholderData: (last, query) => (query?.queryKey[0] === projectId ? last : undefined),
    refetchInterval: ({ state }) => (state.data?.totals.views === 0 ? FIRST_VIEW_MS : REFRESH_MS),
    ...whenBusy,
  })
}

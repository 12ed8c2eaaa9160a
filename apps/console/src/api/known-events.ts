import { useQuery } from '@tanstack/react-query'
import { api, unwrap } from './client.ts'
import { useProjectId } from './session.ts'

/** Event names from the catalog and the last 30 days, as suggestions. */
export const useEventNames = (): readonly string[] => {
  const projectId = useProjectId()
  const path = { projectId }
  const { data } = useQuery({
    queryKey: [projectId, 'event-names'],
    queryFn: async () => {
      const [catalog, stats] = await Promise.all([
        unwrap(
          api.GET('/api/projects/{projectId}/event-definitions', { params: { path, query: { limit: 200 } } }),
        ),
        unwrap(
          api.GET('/api/projects/{projectId}/stats', {
            params: { path, query: { metric: 'events', groupBy: 'name', interval: 'day' } },
          }),
        ),
      ])
      const seen = stats.series.flatMap(({ group, other }) => (group === null || other ? [] : [group]))
      return [...new Set([...catalog.data.map(({ name }) => name), ...seen])].sort()
    },
    staleTime: 60_000,
  })
  return data ?? []
}

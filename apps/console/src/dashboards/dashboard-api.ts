import { api, unwrap } from '../api/client.ts'
import { type List, useList } from '../api/pages.ts'
import { useProjectId } from '../api/session.ts'
import type { Dashboard, Insight } from '../api/types.ts'

/** The project's dashboards, the newest first. */
export const useDashboards = (): List<Dashboard> => {
  const projectId = useProjectId()
  return useList<Dashboard>([projectId, 'dashboards'], (cursor) =>
    unwrap(
      api.GET('/api/projects/{projectId}/dashboards', {
        params: { path: { projectId }, query: { limit: 100, ...cursor } },
      }),
    ),
  )
}

/** The project's insights, the newest first. */
export const useInsights = (): List<Insight> => {
  const projectId = useProjectId()
  return useList<Insight>([projectId, 'insights'], (cursor) =>
    unwrap(
      api.GET('/api/projects/{projectId}/insights', {
        params: { path: { projectId }, query: { limit: 100, ...cursor } },
      }),
    ),
  )
}

/** Adds an insight to the end of a dashboard, unless it is already on it. */
export const addToDashboard = async (
  projectId: string,
  id: string,
  insightId: string,
): Promise<Dashboard> => {
  const params = { path: { projectId, id } }
  const found = await unwrap(api.GET('/api/projects/{projectId}/dashboards/{id}', { params }))
  if (found.insightIds.includes(insightId)) return found
  const body = { insightIds: [...found.insightIds, insightId] }
  return unwrap(api.PATCH('/api/projects/{projectId}/dashboards/{id}', { params, body }))
}

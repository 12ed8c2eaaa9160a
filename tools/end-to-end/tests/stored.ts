import type { Constellation } from '@waymark/testing'

type Listed = { eventId: string }

/** The event ids in a list of a project, from all pages. */
const readIds = async (waymark: Constellation, resource: string): Promise<string[]> => {
  const ids: string[] = []
  for (let cursor: string | null = ''; cursor !== null; ) {
    const response = await waymark.request(
      `/api/projects/${waymark.projectId}/${resource}?limit=500${cursor && `&cursor=${cursor}`}`,
    )
    if (!response.ok) throw new Error(`${resource} cannot be listed: ${response.status}`)
    const page = (await response.json()) as { data: Listed[]; nextCursor: string | null }
    ids.push(...page.data.map(({ eventId }) => eventId))
    cursor = page.nextCursor
  }
  return ids
}

/** The ids of all events of the project. An event that was stored twice appears twice. */
export const readEventIds = (waymark: Constellation): Promise<string[]> => readIds(waymark, 'events')

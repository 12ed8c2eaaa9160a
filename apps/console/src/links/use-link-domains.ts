import { useQuery } from '@tanstack/react-query'
import { api, unwrap } from '../api/client.ts'
import { readAll } from '../api/pages.ts'
import { useProjectId } from '../api/session.ts'
import type { LinkDomain } from '../api/types.ts'

/** The domains of the project by host; none until they are loaded. */
export const useLinkDomains = (): readonly LinkDomain[] => {
  const projectId = useProjectId()
  const { data } = useQuery({
    queryKey: [projectId, 'link-domains'],
    queryFn: () => readDomains(projectId),
    staleTime: 60_000,
  })
  return data ?? []
}

const readDomains = async (projectId: string): Promise<LinkDomain[]> => {
  const domains = await readAll<LinkDomain>((cursor) =>
    unwrap(
      api.GET('/api/projects/{projectId}/link-domains', {
        params: { path: { projectId }, query: { limit: 500, ...cursor } },
      }),
    ),
  )
  return domains.sort((a, b) => a.host.localeCompare(b.host))
}

import { useQuery } from '@tanstack/react-query'
import { api, unwrap } from '../api/client.ts'
import { useProjectId } from '../api/session.ts'

/** People with an email address, who usually have most traits, and anyone: a search needs a filter. */
const SEARCHES = [
  [{ property: 'traits.email', op: 'exists' }],
  [{ property: 'traits.email', op: 'neq', value: '' }],
].map((filters) => JSON.stringify(filters))

/** The traits of some people, as suggestions. */
export const useTraits = () => {
  const projectId = useProjectId()
  const { data = [] } = useQuery({
    queryKey: [projectId, 'traits'],
    queryFn: async () => {
      const found = await Promise.all(
        SEARCHES.map((filters) =>
          unwrap(
            api.GET('/api/projects/{projectId}/profiles', {
              params: { path: { projectId }, query: { limit: 50, filters } },
            }),
          ),
        ),
      )
      const people = found.flatMap((page) => page.data)
      const traits = people.flatMap((person) => Object.entries(person.traits))
      return [...Map.groupBy(traits, ([name]) => name)].map(([name, of]) => ({
        name: `traits.${name.replace(/[\\.]/g, '\\$&')}`,
        types: [...new Set(of.map(([, value]) => typeof value))] as readonly string[],
      }))
    },
    staleTime: 60_000,
  })
  return {
    names: data.map(({ name }) => name).sort(),
    typesOf: (property: string): readonly string[] => data.find(({ name }) => name === property)?.types ?? [],
  }
}

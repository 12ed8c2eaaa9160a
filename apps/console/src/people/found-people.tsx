import { useNavigate } from '@tanstack/react-router'
import { api, unwrap } from '../api/client.ts'
import { useList } from '../api/pages.ts'
import { useProjectId } from '../api/session.ts'
import { Time } from '../ui/format.tsx'
import { EmptyState } from '../ui/states.tsx'
import { DataTable } from '../ui/table.tsx'
import { nameOf } from './person.tsx'
import { PersonLink } from './person-link.tsx'

/** The people that a search finds. */
export const FoundPeople = ({ search }: { search: string }) => {
  const projectId = useProjectId()
  const navigate = useNavigate()
  const people = useList([projectId, 'find-people', search], (cursor) =>
    unwrap(
      api.GET('/api/projects/{projectId}/profiles', {
        params: { path: { projectId }, query: { ...queryOf(search), ...cursor } },
      }),
    ),
  )
  return (
    <DataTable
      label="Found people"
      list={people}
      keyOf={({ id }) => id}
      onOpen={({ id }) => void navigate({ to: '/p/$projectId/people/$id', params: { projectId, id } })}
      columns={[
        {
          title: 'Person',
          cell: (person) => <PersonLink id={person.id}>{nameOf(person)}</PersonLink>,
        },
        { title: 'User', wide: true, cell: ({ userId }) => userId ?? '–' },
        { title: 'Email', wide: true, cell: ({ traits }) => `${traits.email ?? '–'}` },
        { title: 'First seen', align: 'right', cell: ({ createdAt }) => <Time at={createdAt} as="ago" /> },
      ]}
      empty={
        <EmptyState icon="people" title={`No one found for ${search}`}>
          Ids and traits are compared exactly, with capital letters.
        </EmptyState>
      }
    />
  )
}

const TRAIT = /^([^=@\s]+)=(.+)$/

/** `plan=pro` searches for a trait, as text and as parsed JSON. Anything else is an id or an email address. */
const queryOf = (search: string): { search: string } | { filters: string } => {
  const [, name, text] = TRAIT.exec(search) ?? []
  if (name === undefined || text === undefined) return { search }
  const typed = /^(true|false|-?\d+(\.\d+)?)$/.test(text) ? [JSON.parse(text) as number | boolean] : []
  return { filters: JSON.stringify([{ property: `traits.${name}`, op: 'in', value: [text, ...typed] }]) }
}

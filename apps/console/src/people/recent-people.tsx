import { useNavigate } from '@tanstack/react-router'
import { api, unwrap } from '../api/client.ts'
import { useList } from '../api/pages.ts'
import { useProjectId } from '../api/session.ts'
import { FirstEvent } from '../home/first-key.tsx'
import { formatCountry, Time } from '../ui/format.tsx'
import { EmptyState } from '../ui/states.tsx'
import { DataTable, NarrowLine, TruncatedName } from '../ui/table.tsx'
import { PersonLink } from './person-link.tsx'

/** The people of the latest events, each once. */
export const RecentPeople = () => {
  const projectId = useProjectId()
  const navigate = useNavigate()
  const events = useList([projectId, 'recent-people'], (cursor) =>
    unwrap(
      api.GET('/api/projects/{projectId}/events', {
        params: { path: { projectId }, query: { limit: 200, ...cursor } },
      }),
    ),
  )
  const people = new Map<
    string,
    { id: string; name: string; event: string; at: string; country: string | null }
  >()
  for (const { profileId, userId, visitorId, eventName, receivedAt, context } of events.rows) {
    if (profileId === null || people.has(profileId)) continue
    people.set(profileId, {
      id: profileId,
      name: userId ?? visitorId ?? profileId,
      event: eventName,
      at: receivedAt,
      country: context.country,
    })
  }
  const open = (id: string) => void navigate({ to: '/p/$projectId/people/$id', params: { projectId, id } })
  return (
    <DataTable
      label="People of the latest events"
      list={{ ...events, rows: [...people.values()] }}
      keyOf={({ id }) => id}
      onOpen={({ id }) => open(id)}
      columns={[
        {
          title: 'Person',
          sort: ({ name }) => name,
          cell: ({ id, name }) => <PersonLink id={id}>{name}</PersonLink>,
        },
        {
          title: 'Last event',
          sort: ({ event }) => event,
          cell: ({ event, at }) => (
            <>
              <TruncatedName>{event}</TruncatedName>
              <NarrowLine>
                <Time at={at} as="ago" />
              </NarrowLine>
            </>
          ),
        },
        {
          title: 'Country',
          wide: true,
          cell: ({ country }) => (country === null ? '–' : formatCountry(country)),
        },
        {
          title: 'Seen',
          align: 'right',
          wide: true,
          cell: ({ at }) => <Time at={at} as="ago" />,
          sort: ({ at }) => at,
        },
      ]}
      empty={
        <EmptyState icon="people" title="No people yet">
          <p className="mb-4">People appear with their first event.</p>
          <FirstEvent />
        </EmptyState>
      }
    />
  )
}

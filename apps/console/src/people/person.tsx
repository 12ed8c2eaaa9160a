import { useQuery } from '@tanstack/react-query'
import { useParams } from '@tanstack/react-router'
import { useChange } from '../api/change.ts'
import { api, unwrap } from '../api/client.ts'
import { useList } from '../api/pages.ts'
import { useProjectId } from '../api/session.ts'
import type { Profile, TimelineEntry } from '../api/types.ts'
import { useNavigateFromHere } from '../api/url-state.ts'
import { EventDrawer, useOpenEvent } from '../live/event-drawer.tsx'
import { PersonPoints } from '../loyalty/person-points.tsx'
import { Badge } from '../ui/badge.tsx'
import { Button, For } from '../ui/button.tsx'
import { Card, Facts, PageHeader } from '../ui/card.tsx'
import { Json } from '../ui/code.tsx'
import { ConfirmButton } from '../ui/dialog.tsx'
import { saveAs } from '../ui/download.ts'
import { Time } from '../ui/format.tsx'
import { formatMoney } from '../ui/money.ts'
import { PageWithoutData } from '../ui/page-without-data.tsx'
import { EmptyState } from '../ui/states.tsx'
import { DataTable, NarrowLine, rowLinkClass, TruncatedName } from '../ui/table.tsx'

/** The display name of a person. */
export const nameOf = ({ traits, userId, visitorIds, id }: Profile): string => {
  const { name, email } = traits
  return (
    [name, email, userId, visitorIds[0]]
      .find((text) => typeof text === 'string' && text !== '')
      ?.toString() ?? id
  )
}

/** The page of one person: traits, events, links and more. */
export const Person = () => {
  const projectId = useProjectId()
  const { id } = useParams({ strict: false }) as { id: string }
  const navigate = useNavigateFromHere()
  const params = { path: { projectId, id } }
  const profile = useQuery({
    queryKey: [projectId, 'person', id],
    queryFn: () => unwrap(api.GET('/api/projects/{projectId}/profiles/{id}', { params })),
  })
  const exportAll = useChange(
    () => unwrap(api.POST('/api/projects/{projectId}/profiles/{id}/export', { params })),
    { onDone: (data) => saveAs(`person-${id}.json`, 'application/json', JSON.stringify(data, null, 2)) },
  )
  const erase = useChange(() => unwrap(api.DELETE('/api/projects/{projectId}/profiles/{id}', { params })), {
    done: 'The person is being erased from every store',
    quiet: true,
    leave: () => navigate({ to: '/p/$projectId/people', params: { projectId } }),
  })
  const back = { to: '/p/$projectId/people', params: { projectId }, label: 'People' } as const
  const person = profile.data
  if (!person) return <PageWithoutData title="Person" back={back} query={profile} />
  return (
    <>
      <PageHeader
        back={back}
        title={nameOf(person)}
        aside={
          <Badge tone={person.userId ? 'good' : 'neutral'}>{person.userId ? 'known' : 'anonymous'}</Badge>
        }
        actions={
          <>
            <For atLeast="admin">
              <Button icon="download" busy={exportAll.isPending} onClick={() => exportAll.mutate()}>
                Export
              </Button>
            </For>
            <For atLeast="admin">
              <ConfirmButton
                label="Erase"
                title={`Erase ${nameOf(person)}?`}
                confirm="Erase for good"
                onConfirm={() => erase.mutateAsync()}
              >
                Traits, ids, events and everything else of this person are deleted from every store, and
                cannot be recovered.
              </ConfirmButton>
            </For>
          </>
        }
      />
      <div className="grid grid-cols-[minmax(0,1fr)] gap-4 lg:grid-cols-3">
        <div className="flex min-w-0 flex-col gap-4">
          <Card title="Identities" padded>
            <Facts
              rows={[
                ['User', person.userId],
                ['Visitors', <span key="v">{person.visitorIds.join(', ') || '–'}</span>],
                ['First seen', <Time key="f" at={person.createdAt} />],
                ['Last change', <Time key="l" at={person.updatedAt} />],
              ]}
            />
          </Card>
          <PersonPoints id={id} />
          <Card title="Traits" padded>
            {Object.keys(person.traits).length === 0 ? (
              <p className="text-muted">No traits yet. They come with identify calls.</p>
            ) : (
              <Json label="Traits" value={person.traits} />
            )}
          </Card>
          <Card title="Where they came from" padded>
            <Facts
              rows={(['firstTouch', 'lastTouch'] as const).flatMap((name) => {
                const touch = person[name]
                const label = name === 'firstTouch' ? 'First touch' : 'Last touch'
                const source =
                  touch && (touch.utm.campaign ?? touch.shortLinkCode ?? touch.utm.source ?? touch.referrer)
                return [
                  [
                    label,
                    touch && (
                      <span key={name}>
                        {source ?? 'direct'} · <Time at={touch.at} as="day" />
                      </span>
                    ),
                  ] as const,
                ]
              })}
            />
          </Card>
        </div>
        <Card title="Timeline" className="lg:col-span-2">
          <Timeline id={id} />
        </Card>
      </div>
    </>
  )
}

const TITLES = { event: 'neutral', conversion: 'good', identify: 'info' } as const

const Timeline = ({ id }: { id: string }) => {
  const projectId = useProjectId()
  const list = useList<TimelineEntry>([projectId, 'timeline', id], (cursor) =>
    unwrap(
      api.GET('/api/projects/{projectId}/profiles/{id}/timeline', {
        params: { path: { projectId, id }, query: { limit: 50, ...cursor } },
      }),
    ),
  )
  const events = list.rows.flatMap(({ event }) => (event ? [event] : []))
  const [open, setOpen, close] = useOpenEvent(events)
  return (
    <>
      <DataTable
        label="Timeline"
        list={list}
        keyOf={(entry) =>
          `${entry.type}${entry.at}${entry.event?.eventId ?? ''}${entry.conversion?.selectorId ?? ''}${entry.identify?.visitorId ?? ''}`
        }
        onOpen={({ event }) => event && setOpen(event)}
        columns={[
          { title: 'What', cell: ({ type }) => <Badge tone={TITLES[type]}>{type}</Badge> },
          {
            title: 'Details',
            cell: ({ at, event, conversion, identify }) => (
              <>
                {event ? (
                  <button type="button" onClick={() => setOpen(event)} className={rowLinkClass}>
                    <TruncatedName>{event.eventName}</TruncatedName>
                  </button>
                ) : conversion ? (
                  <span>
                    <TruncatedName>{conversion.eventName}</TruncatedName>
                    {conversion.amount !== null && conversion.currency && (
                      <span className="block text-muted">
                        {formatMoney(conversion.amount, conversion.currency)}
                      </span>
                    )}
                  </span>
                ) : (
                  <span className="text-muted">visitor {identify?.visitorId}</span>
                )}
                <NarrowLine>
                  <Time at={at} />
                </NarrowLine>
              </>
            ),
          },
          { title: 'Time', align: 'right', wide: true, cell: ({ at }) => <Time at={at} /> },
        ]}
        empty={<EmptyState icon="live" title="Nothing happened yet" />}
      />
      <EventDrawer event={open} onClose={close} />
    </>
  )
}

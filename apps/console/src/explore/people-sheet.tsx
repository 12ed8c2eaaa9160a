import { useEffect } from 'react'
import { api, unwrap } from '../api/client.ts'
import { useList } from '../api/pages.ts'
import { useProjectId } from '../api/session.ts'
import { useIsShared } from '../api/shared.ts'
import { useUrlState } from '../api/url-state.ts'
import { PersonLink } from '../people/person-link.tsx'
import { Modal } from '../ui/dialog.tsx'
import { formatNumber, Time } from '../ui/format.tsx'
import { EmptyState, SkeletonLines } from '../ui/states.tsx'
import { DataTable } from '../ui/table.tsx'
import type { Filter } from './query-types.ts'

/** Selects the events of a point or bar. */
export type Point = {
  title: string
  eventName?: string | undefined
  from: string
  to: string
  filters?: readonly Filter[]
}

const parsePoint = (text: string | undefined): Point | undefined => {
  try {
    const point: Partial<Point> | undefined = text ? JSON.parse(text) : undefined
    const isPoint = [point?.title, point?.from, point?.to].every((one) => typeof one === 'string')
    return isPoint ? (point as Point) : undefined
  } catch {
    return undefined
  }
}

/** Opens the list of people of a point. Does nothing where no people are shown. */
export const useShowPeople = (): ((point: Point) => void) => {
  const [, set] = useUrlState<'people'>()
  const isShared = useIsShared()
  return (point) => {
    if (!isShared) set({ people: JSON.stringify(point) })
  }
}

/** The people of the point in the URL. */
export const PeopleSheet = () => {
  const [{ people }, set] = useUrlState<'people'>()
  const point = parsePoint(people)
  return (
    <Modal
      as="sheet"
      open={point !== undefined}
      onClose={() => set({ people: '' }, { replace: true })}
      title={point?.title ?? ''}
      description={
        point && (
          <>
            <Time at={point.from} /> – <Time at={point.to} />
          </>
        )
      }
    >
      {point && <People point={point} />}
    </Modal>
  )
}

const People = ({ point: { eventName, from, to, filters = [] } }: { point: Point }) => {
  const projectId = useProjectId()
  const events = useList([projectId, 'people-of-point', eventName, from, to, filters], (cursor) =>
    unwrap(
      api.GET('/api/projects/{projectId}/events', {
        params: {
          path: { projectId },
          query: {
            limit: 200,
            from,
            to,
            ...(eventName && { eventName }),
            ...(filters.length > 0 && { filters: JSON.stringify(filters) }),
            ...cursor,
          },
        },
      }),
    ),
  )
  const isLooking = events.rows.length === 0 && events.hasNextPage
  // A page may be empty although more pages follow.
  useEffect(() => {
    if (isLooking && !events.isFetchingNextPage) events.fetchNextPage()
  })
  const people = new Map<string, { id: string; name: string; events: number; at: string }>()
  for (const { profileId, userId, visitorId, timestamp } of events.rows) {
    if (profileId === null) continue
    const known = people.get(profileId)
    people.set(profileId, {
      id: profileId,
      name: userId ?? known?.name ?? visitorId ?? profileId,
      events: (known?.events ?? 0) + 1,
      at: known && known.at > timestamp ? known.at : timestamp,
    })
  }
  if (isLooking) return <SkeletonLines />
  return (
    <DataTable
      label="People"
      list={{ ...events, rows: [...people.values()] }}
      keyOf={({ id }) => id}
      columns={[
        {
          title: 'Person',
          sort: ({ name }) => name,
          cell: ({ id, name }) => <PersonLink id={id}>{name}</PersonLink>,
        },
        {
          title: 'Events',
          align: 'right',
          cell: ({ events: count }) => formatNumber(count),
          sort: ({ events: count }) => count,
        },
        { title: 'Last', align: 'right', cell: ({ at }) => <Time at={at} as="ago" />, sort: ({ at }) => at },
      ]}
      empty={
        <EmptyState icon="people" title="No people here">
          No known person had such an event in this time.
        </EmptyState>
      }
    />
  )
}

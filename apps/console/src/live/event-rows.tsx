import { useState } from 'react'
import { api, unwrap } from '../api/client.ts'
import { useList } from '../api/pages.ts'
import { useProjectId } from '../api/session.ts'
import type { WaymarkEvent } from '../api/types.ts'
import { FirstEvent } from '../home/first-key.tsx'
import { Badge } from '../ui/badge.tsx'
import { Time } from '../ui/format.tsx'
import { EmptyState } from '../ui/states.tsx'
import { type Column, DataTable } from '../ui/table.tsx'
import { EventDrawer } from './event-drawer.tsx'

export type EventFilters = { eventName?: string; visitorId?: string; userId?: string; eventId?: string }

/** How long an event that has arrived may stay unseen, in ms. */
const POLL_MS = 1_500

/** The newest events, as they arrive; a tab in the background asks for none. */
export const EventRows = ({
  filters,
  limit = 50,
  paused = false,
}: {
  filters: EventFilters
  limit?: number
  paused?: boolean
}) => {
  const projectId = useProjectId()
  const [open, setOpen] = useState<WaymarkEvent>()
  const list = useList(
    [projectId, 'events', filters, limit],
    (cursor) =>
      unwrap(
        api.GET('/api/projects/{projectId}/events', {
          params: { path: { projectId }, query: { limit, ...filters, ...cursor } },
        }),
      ),
    { refetchInterval: paused ? false : POLL_MS },
  )
  const shown = limit < 50 ? { ...list, hasNextPage: false } : list
  const isFiltered = Object.keys(filters).length > 0
  return (
    <>
      <DataTable
        label="Events"
        columns={columns(setOpen)}
        list={shown}
        keyOf={({ eventId }) => eventId}
        onOpen={setOpen}
        empty={
          isFiltered ? (
            <EmptyState icon="search" title="No event fits these filters" />
          ) : (
            <EmptyState icon="live" title="No events yet">
              <p className="mb-4">Send one, and it appears here at once.</p>
              <FirstEvent />
            </EmptyState>
          )
        }
      />
      <EventDrawer event={open} onClose={() => setOpen(undefined)} />
    </>
  )
}

const columns = (open: (event: WaymarkEvent) => void): Column<WaymarkEvent>[] => [
  {
    title: 'Event',
    cell: (event) => (
      <span className="flex flex-wrap items-center gap-2">
        <button type="button" onClick={() => open(event)} className="rounded font-medium hover:underline">
          {event.eventName}
        </button>
        {event.warnings.length > 0 && (
          <Badge tone="warning">
            {event.warnings.length} {event.warnings.length === 1 ? 'warning' : 'warnings'}
          </Badge>
        )}
        {event.context.bot && <Badge>bot</Badge>}
      </span>
    ),
  },
  {
    title: 'Person',
    cell: ({ userId, visitorId }) => (
      <span className="block max-w-52 truncate">{userId ?? visitorId ?? '–'}</span>
    ),
  },
  {
    title: 'Page or source',
    wide: true,
    cell: ({ context }) => (
      <span className="block max-w-64 truncate text-muted">
        {context.path ?? context.utm.campaign ?? context.referrerHost ?? '–'}
      </span>
    ),
  },
  { title: 'Received', align: 'right', cell: ({ receivedAt }) => <Time at={receivedAt} as="ago" /> },
]

import { useEffect } from 'react'
import type { WaymarkEvent } from '../api/types.ts'
import { FirstEvent } from '../home/first-key.tsx'
import { Badge } from '../ui/badge.tsx'
import { formatCount, Time } from '../ui/format.tsx'
import { EmptyState, Notice } from '../ui/states.tsx'
import { type Column, DataTable, NarrowLine, rowLinkClass, TruncatedName } from '../ui/table.tsx'
import { EventDrawer, useOpenEvent } from './event-drawer.tsx'
import { type EventFilters, useLiveEvents } from './use-live-events.ts'

/** The newest events, as they arrive. A hidden page does not request any. */
export const EventRows = ({
  filters,
  limit,
  paused = false,
  onStream,
}: {
  filters: EventFilters
  /** How many to show. Without it, all can be loaded. */
  limit?: number
  paused?: boolean
  /** Receives whether new events arrive. */
  onStream?: (open: boolean) => void
}) => {
  const { list, isStreaming, skipped } = useLiveEvents(filters, limit, paused)
  useEffect(() => onStream?.(isStreaming), [onStream, isStreaming])
  const [open, setOpen, close] = useOpenEvent(list.rows)
  const isFiltered = Object.keys(filters).length > 0
  return (
    <>
      {skipped && onStream && (
        <Notice tone="warning">
          {formatCount(skipped.count, 'event')} arrived too fast to be shown one by one, the last at{' '}
          <Time at={skipped.until} />. They are stored: load more rows to see them, or filter.
        </Notice>
      )}
      <DataTable
        label="Events"
        columns={columns(setOpen)}
        list={list}
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
      <EventDrawer event={open} onClose={close} />
    </>
  )
}

const columns = (open: (event: WaymarkEvent) => void): Column<WaymarkEvent>[] => [
  {
    title: 'Event',
    cell: (event) => (
      <span className="flex flex-wrap items-center gap-2">
        <button type="button" onClick={() => open(event)} className={rowLinkClass}>
          <TruncatedName>{event.eventName}</TruncatedName>
        </button>
        {event.warnings.length > 0 && (
          <Badge tone="warning">{formatCount(event.warnings.length, 'warning')}</Badge>
        )}
        {event.context.bot && <Badge>bot</Badge>}
        <NarrowLine>
          <Time at={event.receivedAt} as="ago" />
        </NarrowLine>
      </span>
    ),
  },
  {
    title: 'Person',
    cell: ({ userId, visitorId }) => (
      <span
        title={userId ?? visitorId ?? undefined}
        className="block max-w-[28cqw] truncate @2xl:max-w-[min(13rem,20cqw)]"
      >
        {userId ?? visitorId ?? '–'}
      </span>
    ),
  },
  {
    title: 'Page or source',
    wide: true,
    cell: ({ context }) => (
      <span className="block max-w-[min(16rem,18cqw)] truncate text-muted">
        {context.path ?? context.utm.campaign ?? context.referrerHost ?? '–'}
      </span>
    ),
  },
  {
    title: 'Received',
    align: 'right',
    wide: true,
    cell: ({ receivedAt }) => <Time at={receivedAt} as="ago" />,
  },
]

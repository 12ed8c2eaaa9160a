import { useState } from 'react'
import { useEventNames } from '../api/known-events.ts'
import { useUrlState } from '../api/url-state.ts'
import { Button } from '../ui/button.tsx'
import { Card, PageHeader } from '../ui/card.tsx'
import { FilterInput } from '../ui/filter-input.tsx'
import { EventRows } from './event-rows.tsx'
import { ExportEvents } from './export-events.tsx'
import type { EventFilters } from './use-live-events.ts'

const FILTERS = ['eventName', 'userId', 'visitorId', 'eventId'] as const
type Filter = (typeof FILTERS)[number]

/** Events as they arrive. */
export const Live = () => {
  const [search, setSearch] = useUrlState<Filter | 'paused'>()
  // The API refuses other parameters, such as those of the page that is opened next.
  const filters: EventFilters = Object.fromEntries(
    FILTERS.flatMap((name) => (search[name] ? [[name, search[name]]] : [])),
  )
  const { eventId: _, ...exported } = filters
  const paused = search.paused === '1'
  const [open, setOpen] = useState(false)
  const state = paused ? 'paused' : open ? 'listening' : 'connecting'
  const names = useEventNames()
  const set = (name: Filter) => (text: string) => setSearch({ [name]: text })
  return (
    <>
      <PageHeader
        title="Live"
        description="Events appear within two seconds of their arrival."
        actions={
          <>
            <ExportEvents ids={exported} />
            <Button icon={paused ? 'play' : 'pause'} onClick={() => setSearch({ paused: paused ? '' : '1' })}>
              {paused ? 'Go on' : 'Pause'}
            </Button>
          </>
        }
        aside={
          <span role="status" className="inline-flex items-center gap-1.5 text-muted">
            <span className={`size-2 rounded-full ${open ? 'animate-pulse bg-accent' : 'bg-line-strong'}`} />
            {state}
          </span>
        }
      />
      <Card className="mb-4" padded>
        <search className="grid gap-3 sm:grid-cols-2 lg:grid-cols-4">
          <FilterInput
            label="Event name"
            options={names}
            value={filters.eventName ?? ''}
            onCommit={set('eventName')}
          />
          <FilterInput label="User id" value={filters.userId ?? ''} onCommit={set('userId')} />
          <FilterInput label="Visitor id" value={filters.visitorId ?? ''} onCommit={set('visitorId')} />
          <FilterInput label="Event id" value={filters.eventId ?? ''} onCommit={set('eventId')} />
        </search>
      </Card>
      <Card>
        <EventRows filters={filters} paused={paused} onStream={setOpen} />
      </Card>
    </>
  )
}

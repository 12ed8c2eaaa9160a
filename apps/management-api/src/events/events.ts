import { type EventQuery, listEvents } from '@waymark/contracts/http/events'
import { dateOfTime } from '@waymark/contracts/rfc3339'
import { type EventRow, eventView } from '@waymark/pipeline'
import type { Route } from '@waymark/service-kit'
import { readFiltersOfQuery } from '../analytics/read-filters.ts'
import { decodeCursor, encodeCursor, fillPage, unusableCursor } from '../http/page.ts'
import { unprocessable } from '../http/validation.ts'
import type { ManagementDeps } from '../management-deps.ts'
import { withPresentProfiles } from '../profiles/profile-queries.ts'
import { cursorOf, type EventCursor, type PlacedEventQuery, readEvents } from './event-queries.ts'

/** A project's events, latest received first. New events do not shift pages. */
export const eventsRoute = ({ projectRoute, db: { pool }, steadyClock }: ManagementDeps): Route =>
  projectRoute(listEvents, async ({ projectId, query }) => {
    const placed = placeQuery(query)
    const end = steadyClock() + SEARCH_MS
    let stoppedAt: EventCursor | undefined
    const { data, last } = await fillPage(query.limit, eventView, async (previous, take) => {
      const found: EventRow[] = []
      let next: EventCursor | undefined = previous ? cursorOf(previous) : placed.after
      do {
        const read = await readEvents(pool, projectId, placed, next, take - found.length)
        found.push(...read.events)
        next = read.next
      } while (next && found.length < take && steadyClock() < end)
      if (found.length < take) stoppedAt = next
      return found
    })
    const cursor = last ? cursorOf(last) : stoppedAt
    return {
      body: {
        data: await withPresentProfiles(pool, projectId, data),
        nextCursor: cursor ? formatCursor(cursor) : null,
      },
    }
  })

/** How long a page is searched for matching events, in ms. */
const SEARCH_MS = 2_000

const CURSOR = /^(\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z)_([0-9a-f]{8}-(?:[0-9a-f]{4}-){3}[0-9a-f]{12})$/

/**
 * Reads the parameters of a list of events.
 * @throws AppError unprocessable when the cursor is not one of this list, or a filter or the range cannot be used
 */
export const placeQuery = ({
  cursor,
  from,
  to,
  filters,
  ...query
}: Omit<EventQuery, 'limit'> & { limit?: number }): PlacedEventQuery => {
  if (from !== undefined && to !== undefined && dateOfTime(from) >= dateOfTime(to))
    throw unprocessable('from', 'order', 'must be before to', from)
  return {
    ...query,
    ...(from !== undefined && { from: dateOfTime(from) }),
    ...(to !== undefined && { to: dateOfTime(to) }),
    ...(cursor !== undefined && { after: parseCursor(cursor) }),
    filters: filters === undefined ? [] : readFiltersOfQuery(filters),
  }
}

/** A cursor as clients get it. */
export const formatCursor = ({ receivedAt, eventKey }: EventCursor): string =>
  encodeCursor(`${receivedAt.toISOString()}_${eventKey}`)

const parseCursor = (text: string): EventCursor => {
  const [, receivedAt, eventKey] = CURSOR.exec(decodeCursor(text)) ?? []
  const time = new Date(receivedAt ?? Number.NaN)
  if (!eventKey || Number.isNaN(time.getTime())) throw unusableCursor()
  return { receivedAt: time, eventKey }
}

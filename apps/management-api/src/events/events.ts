import { type EventQuery, type EventView, listEvents } from '@waymark/contracts/http/events'
import { dateOfTime } from '@waymark/contracts/rfc3339'
import { eventKeyOf } from '@waymark/domain/ingestion'
import {
  type EventPlace,
  type EventQueries,
  type EventsQuery,
  type StoredEvent,
  viewOf,
} from '@waymark/event-store'
import type { Route } from '@waymark/service-kit'
import { readFiltersOfQuery } from '../analytics/read-filters.ts'
import { decodeCursor, encodeCursor, fillPage, unusableCursor } from '../http/page.ts'
import { unprocessable } from '../http/validation.ts'
import type { ManagementDeps } from '../management-deps.ts'
import { withPresentProfiles } from '../profiles/profile-queries.ts'
import { findReceipt } from './event-id-queries.ts'

/** Which events to read. All conditions must match. */
export type EventSearch = Omit<EventsQuery, 'projectId' | 'portion'>

/** A project's events, latest received first. New events do not shift pages. */
export const eventsRoute = ({ projectRoute, db: { pool }, runList, steadyClock }: ManagementDeps): Route =>
  projectRoute(listEvents, async ({ projectId, query, request }) => {
    const { limit, ...asked } = query
    const search = await narrow(pool, projectId, readSearch(asked))
    const end = isSearched(asked) ? steadyClock() + SEARCH_MS : Number.POSITIVE_INFINITY
    const { data, next } = await runList({ projectId, request }, (store) =>
      readPage(store, { projectId, ...search }, limit, () => steadyClock() >= end),
    )
    return {
      body: {
        data: await withPresentProfiles(pool, projectId, data),
        nextCursor: next ? formatCursor(next) : null,
      },
    }
  })

/**
 * Limits the search for an id to the time of its claim, because stores sort events by other columns than their ids. An
 * event whose claim was forgotten is searched everywhere.
 */
const narrow = async (
  pool: ManagementDeps['db']['pool'],
  projectId: string,
  search: EventSearch,
): Promise<EventSearch> => {
  const { eventKeys: [eventKey] = [], below } = search
  if (eventKey === undefined) return search
  const receivedAt = await findReceipt(pool, projectId, eventKey)
  if (receivedAt === undefined) return search
  const isBefore = below !== undefined && below.receivedAt <= receivedAt
  return { ...search, receivedFrom: receivedAt, below: isBefore ? below : { receivedAt: receivedAt + 1 } }
}

/** How long a page is searched for matching events, in ms. */
const SEARCH_MS = 2_000

const isSearched = ({ from, to, filters }: Partial<EventQuery>): boolean =>
  from !== undefined || to !== undefined || filters !== undefined

/** Reads a page of events. When `isOver`, it ends with those that were found. */
const readPage = async (
  store: Pick<EventQueries, 'readEvents'>,
  query: Omit<EventsQuery, 'portion'>,
  limit: number,
  isOver: () => boolean,
): Promise<{ data: EventView[]; next: EventPlace | undefined }> => {
  let wanted = 0
  let next: EventPlace | undefined
  const portions = store.readEvents({ ...query, portion: () => wanted })
  const { data, last } = await fillPage(limit, viewOf, async (_, take) => {
    const found: StoredEvent[] = []
    next = undefined
    do {
      wanted = take - found.length
      const { value, done } = await portions.next()
      if (done) return found
      found.push(...value.events)
      next = value.next
    } while (found.length < take && !isOver())
    return found
  })
  return { data, next: last ? placeOf(last) : next }
}

/** The place of an event in the order of receipt. */
export const placeOf = ({ receivedAt, eventKey }: StoredEvent): EventPlace => ({
  receivedAt: Date.parse(receivedAt),
  eventKey,
})

const CURSOR = /^(\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z)_([0-9a-f]{8}-(?:[0-9a-f]{4}-){3}[0-9a-f]{12})$/

/**
 * Reads what events a request asks for.
 * @throws AppError unprocessable when the cursor is not one of this list, or a filter or the range cannot be used
 */
export const readSearch = ({
  cursor,
  from,
  to,
  filters,
  eventId,
  ...equal
}: Omit<EventQuery, 'limit'>): EventSearch => {
  if (from !== undefined && to !== undefined && dateOfTime(from) >= dateOfTime(to))
    throw unprocessable('from', 'order', 'must be before to', from)
  return {
    ...equal,
    ...(eventId !== undefined && { eventKeys: [eventKeyOf(eventId)] }),
    ...(from !== undefined && { from: dateOfTime(from).getTime() }),
    ...(to !== undefined && { to: dateOfTime(to).getTime() }),
    ...(cursor !== undefined && { below: parseCursor(cursor) }),
    filters: filters === undefined ? [] : readFiltersOfQuery(filters),
  }
}

/** A cursor as clients get it. */
export const formatCursor = ({ receivedAt, eventKey = FIRST_KEY }: EventPlace): string =>
  encodeCursor(`${new Date(receivedAt).toISOString()}_${eventKey}`)

/** No key is below it, so the place is before all events that were received at the time. */
const FIRST_KEY = '00000000-0000-0000-0000-000000000000'

const parseCursor = (text: string): EventPlace => {
  const [, receivedAt, eventKey] = CURSOR.exec(decodeCursor(text)) ?? []
  const time = new Date(receivedAt ?? Number.NaN).getTime()
  if (!eventKey || Number.isNaN(time)) throw unusableCursor()
  return { receivedAt: time, eventKey }
}

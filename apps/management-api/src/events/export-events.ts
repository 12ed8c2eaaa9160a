import { type EventExportFormat, type EventView, exportEvents } from '@waymark/contracts/http/events'
import {
  EVENT_COLUMNS,
  type EventColumns,
  withBom,
  writeCsv,
  writeJsonLines,
  writeParquet,
} from '@waymark/event-files'
import { type EventQueries, viewOf } from '@waymark/event-store'
import { disconnectSignal, type Route } from '@waymark/service-kit'
import { createReadSize } from '../http/read-size.ts'
import { whileAllowed } from '../http/while-allowed.ts'
import type { ManagementDeps } from '../management-deps.ts'
import { type EventSearch, formatCursor, placeOf, readSearch } from './events.ts'

/** Maximum events per read. */
const EVENTS_PER_READ = 100

type Exported = EventView & { cursor: string }
const COLUMNS: EventColumns<Exported> = { ...EVENT_COLUMNS, cursor: 'text' }

const MEDIA_TYPES: Record<EventExportFormat, string> = {
  jsonl: 'application/jsonl; charset=utf-8',
  csv: 'text/csv; charset=utf-8',
  parquet: 'application/vnd.apache.parquet',
}

/** The events that match, as a stream. */
export const exportEventsRoute = ({
  projectRoute,
  exports,
  eventStore,
  steadyClock,
}: ManagementDeps): Route =>
  projectRoute(
    exportEvents,
    exports(async ({ projectId, query, request, allowAgain }) => {
      const { format, bom, limit, ...search } = query
      const store = eventStore.queriesUntil(disconnectSignal(request))
      const portions = readPortions(store, projectId, readSearch(search), limit)
      // Read before the answer begins, so that an unavailable store is answered with 503.
      const first = await portions.next()
      return {
        headers: { 'Content-Disposition': `attachment; filename=events.${format}` },
        type: MEDIA_TYPES[format],
        stream: whileAllowed(
          write(prepend(first.value ?? [], portions), format, bom),
          allowAgain,
          steadyClock,
        ),
      }
    }),
  )

/** The events in portions, which may be empty. */
async function* readPortions(
  store: EventQueries,
  projectId: string,
  search: EventSearch,
  limit = Number.POSITIVE_INFINITY,
): AsyncGenerator<Exported[]> {
  const size = createReadSize(EVENTS_PER_READ)
  let left = limit
  const portion = () => Math.min(left, size.records())
  for await (const { events } of store.readEvents({ projectId, ...search, portion })) {
    yield events.map((event) => ({ ...viewOf(event), cursor: formatCursor(placeOf(event)) }))
    size.note(events.length, JSON.stringify(events.map(({ properties }) => properties)).length)
    left -= events.length
    if (left <= 0) return
  }
}

async function* prepend<T>(first: T, others: AsyncIterable<T>): AsyncGenerator<T> {
  yield first
  yield* others
}

const write = (
  portions: AsyncIterable<Exported[]>,
  format: EventExportFormat,
  bom = false,
): AsyncGenerator<string | Uint8Array> => {
  if (format === 'jsonl') return writeJsonLines(portions)
  if (format === 'parquet') return writeParquet(COLUMNS, portions)
  const csv = writeCsv(COLUMNS, portions)
  return bom ? withBom(csv) : csv
}

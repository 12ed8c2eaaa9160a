import { type EventExportFormat, type EventView, exportEvents } from '@waymark/contracts/http/events'
import {
  EVENT_COLUMNS,
  type EventColumns,
  withBom,
  writeCsv,
  writeJsonLines,
  writeParquet,
} from '@waymark/event-files'
import { eventView } from '@waymark/pipeline'
import type { Route } from '@waymark/service-kit'
import type { Pool } from 'pg'
import { createReadSize } from '../http/read-size.ts'
import { whileAllowed } from '../http/while-allowed.ts'
import type { ManagementDeps } from '../management-deps.ts'
import { cursorOf, type PlacedEventQuery, readEvents } from './event-queries.ts'
import { formatCursor, placeQuery } from './events.ts'

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
  db: { pool },
  steadyClock,
}: ManagementDeps): Route =>
  projectRoute(
    exportEvents,
    exports(async ({ projectId, query: { format, bom, ...query }, allowAgain }) => {
      const portions = readPortions(pool, projectId, placeQuery(query))
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
  pool: Pool,
  projectId: string,
  query: PlacedEventQuery,
): AsyncGenerator<Exported[]> {
  const size = createReadSize(EVENTS_PER_READ)
  let left = query.limit ?? Number.POSITIVE_INFINITY
  for (let after = query.after; ; ) {
    const { events, next } = await readEvents(pool, projectId, query, after, Math.min(left, size.records()))
    yield events.map((row) => ({ ...eventView(row), cursor: formatCursor(cursorOf(row)) }))
    size.note(events.length, JSON.stringify(events.map(({ properties }) => properties)).length)
    left -= events.length
    if (!next || left <= 0) return
    after = next
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

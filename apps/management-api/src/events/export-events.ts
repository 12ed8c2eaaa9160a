import { type EventView, exportEvents } from '@waymark/contracts'
import type { Route } from '@waymark/service-kit'
import type { Pool } from 'pg'
import { csvField } from '../http/csv.ts'
import { limitConcurrency } from '../http/limit-concurrency.ts'
import type { ManagementDeps } from '../management-deps.ts'
import { cursorOf, eventView, formatCursor, type PlacedEventQuery, placeQuery, readEvents } from './events.ts'

/** Exports that run at once, in this process. */
const EXPORT_LIMITS = { perProject: 2, total: 8 }
/** Events per read. Parsing more of the largest ones at once would delay other requests. */
const EVENTS_PER_READ = 100

type Exported = EventView & { cursor: string }

/** All events that match, as a stream. */
export const exportEventsRoute = ({ projectRoute, db: { pool } }: ManagementDeps): Route =>
  projectRoute(
    exportEvents,
    limitConcurrency(EXPORT_LIMITS, async ({ projectId, query: { format, ...query } }) => {
      const portions = readAll(pool, projectId, placeQuery(query))
      // Read before the answer begins, so that an unavailable store is answered with 503.
      const first = await portions.next()
      return {
        headers: { 'Content-Disposition': `attachment; filename=events.${format}` },
        type: format === 'csv' ? 'text/csv; charset=utf-8' : 'application/jsonl; charset=utf-8',
        stream: write(first.value ?? [], portions, format),
      }
    }),
  )

/** The events in portions, which may be empty. */
async function* readAll(pool: Pool, projectId: string, query: PlacedEventQuery): AsyncGenerator<Exported[]> {
  for (let after = query.after; ; ) {
    const { events, next } = await readEvents(pool, projectId, query, after, EVENTS_PER_READ)
    yield events.map((row) => ({ ...eventView(row), cursor: formatCursor(cursorOf(row)) }))
    if (!next) return
    after = next
  }
}

async function* write(
  first: Exported[],
  others: AsyncIterable<Exported[]>,
  format: 'jsonl' | 'csv',
): AsyncGenerator<string> {
  if (format === 'csv') yield `${COLUMNS.join(',')}\r\n`
  const lineOf = format === 'csv' ? csvLine : (event: Exported) => `${JSON.stringify(event)}\n`
  if (first.length > 0) yield first.map(lineOf).join('')
  for await (const events of others) if (events.length > 0) yield events.map(lineOf).join('')
}

const COLUMNS = [
  'eventId',
  'eventName',
  'timestamp',
  'receivedAt',
  'clientTimestamp',
  'visitorId',
  'userId',
  'sessionId',
  'profileId',
  'shortLinkId',
  'shortLinkCode',
  'properties',
  'context',
  'clickIds',
  'warnings',
  'cursor',
] as const satisfies readonly (keyof Exported)[]

const csvLine = (event: Exported): string =>
  `${COLUMNS.map((column) => safeField(event[column])).join(',')}\r\n`

/** A CSV field that spreadsheets do not evaluate as a formula. */
const safeField = (value: unknown): string => {
  if (value === null || value === undefined) return ''
  const text = typeof value === 'string' ? value : JSON.stringify(value)
  return csvField(/^[=+\-@\t\r]/.test(text) ? `'${text}` : text)
}

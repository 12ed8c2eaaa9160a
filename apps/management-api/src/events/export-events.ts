import { type EventView, exportEvents } from '@waymark/contracts'
import type { Platform, Route } from '@waymark/service-kit'
import type { Pool } from 'pg'
import { limitExports } from '../http/limit-exports.ts'
import type { ProjectRouteFactory } from '../http/project-route.ts'
import { cursorOf, eventView, formatCursor, type PlacedEventQuery, placeQuery, readEvents } from './events.ts'

/** An export reads the store whenever its reader has taken what was read before. */
const EXPORT_LIMITS = { perProject: 2, total: 8 }
/** Events that are read at a time: of the largest, more would keep others waiting. */
const EVENTS_PER_READ = 100

type Exported = EventView & { cursor: string }

/** All events that match, as a stream. */
export const exportEventsRoute = ({
  projectRoute,
  db: { pool },
}: Pick<Platform, 'db'> & { projectRoute: ProjectRouteFactory }): Route =>
  projectRoute(
    exportEvents,
    limitExports(EXPORT_LIMITS, async ({ projectId, query: { format, ...query } }) => {
      const portions = readAll(pool, projectId, placeQuery(query))
      // Before the answer begins, so that a store that is away is answered 503.
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
  `${COLUMNS.map((column) => csvField(event[column])).join(',')}\r\n`

/** A field of RFC 4180 that no spreadsheet takes for a formula. */
const csvField = (value: unknown): string => {
  if (value === null || value === undefined) return ''
  const text = typeof value === 'string' ? value : JSON.stringify(value)
  const safe = /^[=+\-@\t\r]/.test(text) ? `'${text}` : text
  return /[",\r\n]/.test(safe) ? `"${safe.replaceAll('"', '""')}"` : safe
}

import type { PathRow, PathsQuery } from '../store.ts'
import type { Database } from './dialect.ts'
import { eventsFrom, PERSON } from './table-queries.ts'

type Row = Omit<PathRow, 'people' | 'step'> & Record<'step' | 'people', bigint | number>

/**
 * Runs a paths query as one statement. A path is the sequence of one person in one session: from the beginning, from
 * the first start event on, or up to the first end event. Repeats of the same event or page in a row are one step.
 */
export const measurePaths = async (
  { dialect, query: run }: Database,
  query: PathsQuery,
): Promise<PathRow[]> => {
  const { startEvent, endEvent, limit } = query
  const parameters = dialect.parameters()
  const events = eventsFrom(dialect, query, parameters, { people: true })
  const isNamed = (name: string | undefined): string =>
    name === undefined ? 'false' : `event_name = ${parameters.text(name)}`
  const { origin, last } = spanOf(query)
  const node = `CASE WHEN e.event_name = 'page_view' THEN coalesce(e.path, e.event_name) ELSE e.event_name END`
  const text = `
    WITH visited AS (
      SELECT ${PERSON} AS person, e.session_id AS session, e."time" AS t, ${dialect.sortable('e.event_key')} AS event_key,
        e.event_name AS event_name, ${dialect.asText(node)} AS node
      ${events}
    ),
    steps AS (
      SELECT * FROM visited WHERE person IS NOT NULL
      QUALIFY node IS DISTINCT FROM lag(node) OVER (PARTITION BY person, session ORDER BY t, event_key)
    ),
    numbered AS (
      SELECT person, session, node, ${isNamed(startEvent)} AS is_start, ${isNamed(endEvent)} AS is_end,
        row_number() OVER in_order AS number, lead(node) OVER in_order AS next_node
      FROM steps WINDOW in_order AS (PARTITION BY person, session ORDER BY t, event_key)
    ),
    started AS (
      SELECT *, min(CASE WHEN is_start THEN number END) OVER (PARTITION BY person, session) AS start_number FROM numbered
    ),
    bounded AS (
      SELECT *, min(CASE WHEN is_end AND number > coalesce(start_number, 0) THEN number END)
        OVER (PARTITION BY person, session) AS end_number
      FROM started
    )
    SELECT number - (${origin}) AS step, node AS source, next_node AS target, count(DISTINCT person) AS people
    FROM bounded WHERE number >= ${origin} AND number < ${last} AND next_node IS NOT NULL
    GROUP BY step, source, target ORDER BY people DESC, step, source, target LIMIT ${limit}`
  const rows = await run<Row>(query.projectId, text, parameters.bindings)
  return rows.map((row) => ({ ...row, step: Number(row.step), people: Number(row.people) }))
}

/** The position of step 0 and the last position of a path, as SQL; NULL for a session without such a path. */
const spanOf = ({ startEvent, endEvent, depth }: PathsQuery): { origin: string; last: string } => {
  if (startEvent === undefined && endEvent === undefined) return { origin: '1', last: `${depth}` }
  if (endEvent === undefined) return { origin: 'start_number', last: `start_number + ${depth - 1}` }
  if (startEvent === undefined) return { origin: `end_number - ${depth - 1}`, last: 'end_number' }
  return {
    origin: 'start_number',
    last: `CASE WHEN end_number < start_number + ${depth} THEN end_number END`,
  }
}

import type { RetentionQuery, RetentionRow } from '../store.ts'
import type { Database } from './dialect.ts'
import { eventsFrom, PERSON } from './table-queries.ts'

type Row = Record<'cohort' | 'people', bigint | number> & { period: bigint | number | null }

/** Runs a retention query as one statement: the first start of each person, and the periods in which they returned. */
export const measureRetention = async (
  { dialect, query: run }: Database,
  query: RetentionQuery,
): Promise<RetentionRow[]> => {
  const { projectId, startEvent, returnEvent, from, to, bounds, cohorts, periods } = query
  const parameters = dialect.parameters()
  const end = bounds.at(-1) ?? to
  const bucket = dialect.bucketOf('e."time"', bounds.slice(0, -1), end)
  const joins = { people: true, bucket: bucket.join }
  const columns = `${PERSON} AS person, e."time" AS t, ${bucket.index} AS bucket`
  const isNamed = (name: string): string => `e.event_name = ${parameters.text(name)}`
  const named = (name: string, end: number): string =>
    `SELECT ${columns} ${eventsFrom(dialect, { projectId, from, to: end, eventName: name }, parameters, joins)}`
  const sources = dialect.readsTablesOnce
    ? [
        `seen ${dialect.materialized} (
          SELECT ${columns}, ${isNamed(startEvent)} AND e."time" < ${parameters.time(to)} AS is_start,
            ${isNamed(returnEvent)} AS is_return
          ${eventsFrom(dialect, { projectId, from, to: end }, parameters, joins)}
            AND (${isNamed(startEvent)} OR ${isNamed(returnEvent)})
        )`,
        'starts AS (SELECT person, t, bucket FROM seen WHERE is_start)',
        'returned AS (SELECT person, t, bucket FROM seen WHERE is_return)',
      ]
    : [`starts AS (${named(startEvent, to)})`, `returned AS (${named(returnEvent, end)})`]
  const text = `
    WITH ${[
      ...bucket.tables,
      ...sources,
      `started ${dialect.materialized} (
        SELECT person, min(t) AS first_t, min(bucket) AS cohort FROM starts WHERE person IS NOT NULL GROUP BY person
      )`,
      `periods AS (
        SELECT DISTINCT started.person AS person, started.cohort AS cohort, returned.bucket - started.cohort AS period
        FROM started JOIN returned ON returned.person = started.person WHERE returned.t >= started.first_t
      )`,
    ].join(', ')}
    SELECT cohort, nullif(0, 0) AS period, count(*) AS people FROM started GROUP BY cohort
    UNION ALL
    SELECT cohort, period, count(*) AS people FROM periods WHERE period <= ${periods} GROUP BY cohort, period`
  const rows = await run<Row>(query.projectId, text, parameters.bindings)
  return rows
    .map(({ cohort, period, people }) => ({
      cohort: Number(cohort),
      period: period === null ? null : Number(period),
      people: Number(people),
    }))
    .filter(({ cohort }) => cohort < cohorts)
}

import { firstDayOf, isInSegment, type SegmentCount } from '@waymark/domain/decision'
import type { SegmentQuery, SegmentRow } from '../store.ts'
import { createConditions } from './condition-queries.ts'
import type { Database, Parameters } from './dialect.ts'
import { END, eventsFrom, PERSON, peopleWithTraits } from './table-queries.ts'

const OPERATORS: Record<SegmentCount['op'], string> = { eq: '=', gt: '>', gte: '>=', lt: '<', lte: '<=' }

type Row = { profile_id: string | null; people: bigint | number }

/** Runs a segment query as one statement, which ends with the row of all people. */
export const measureSegment = async (
  { dialect, query: run }: Database,
  { projectId, segment, now, to = END, sample }: SegmentQuery,
): Promise<SegmentRow[]> => {
  const { match, filters, counts } = segment
  const parameters = dialect.parameters()
  const { allOf } = createConditions(dialect, parameters)
  const starts = counts.map(({ days }) => Date.parse(`${firstDayOf(days, now)}T00:00:00Z`))
  // If people without traits and counts are in the segment, everyone with an event of any name and time may be.
  const isForAnyone = isInSegment(segment, { traits: {}, countOf: () => 0 })
  const scope = {
    projectId,
    from: isForAnyone ? 0 : Math.min(END, ...starts),
    to: Math.min(END, to),
    includeBots: true,
  }
  const isNamed = ({ eventName }: SegmentCount) => `e.event_name = ${parameters.text(eventName)}`
  const sums = counts.map((count, index) => {
    const counted = `${isNamed(count)} AND e."time" >= ${parameters.time(starts[index] ?? 0)}`
    return `sum(CASE WHEN ${counted} THEN 1 ELSE 0 END) AS n${index}`
  })
  const named = isForAnyone || counts.length === 0 ? [] : [`AND (${counts.map(isNamed).join(' OR ')})`]
  const tests = [
    ...filters.map((filter) => `(${allOf([filter])})`),
    ...counts.map((count, index) => compared(count, index, parameters)),
  ]
  const values = counts.map((_, index) => `coalesce(counted.n${index}, 0) AS n${index}`)
  const rows = await run<Row>(
    projectId,
    `WITH counted AS (
      SELECT ${[`${PERSON} AS id`, ...sums].join(', ')}
      ${eventsFrom(dialect, scope, parameters, { people: true })} AND e.profile_id IS NOT NULL ${named.join('')}
      GROUP BY id
    ),
    person AS (
      SELECT ${['coalesce(counted.id, known.profile_id) AS id', "coalesce(known.traits, '{}') AS traits", ...values].join(', ')}
      FROM counted FULL JOIN (${peopleWithTraits(dialect, projectId, parameters)}) AS known
        ON known.profile_id = counted.id
    ),
    matched ${dialect.materialized} (
      SELECT person.id AS id FROM person WHERE ${tests.join(match === 'all' ? ' AND ' : ' OR ')}
    )
    SELECT * FROM (
      SELECT ${dialect.asText('sampled.id')} AS profile_id, 0 AS people
      FROM (SELECT id FROM matched ORDER BY ${dialect.sortable('id')} DESC LIMIT ${sample}) AS sampled
      UNION ALL
      SELECT ${dialect.nullText} AS profile_id, count(*) AS people FROM matched
    ) AS answer`,
    parameters.bindings,
  )
  const people = rows.reduce((sum, row) => sum + Number(row.people), 0)
  return [
    ...rows.flatMap(({ profile_id }) => (profile_id === null ? [] : [{ profileId: profile_id, people: 1 }])),
    { profileId: null, people },
  ]
}

const compared = ({ op, value }: SegmentCount, index: number, parameters: Parameters): string =>
  `person.n${index} ${OPERATORS[op]} ${parameters.number(value)}`

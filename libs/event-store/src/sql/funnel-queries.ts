import type { FunnelQuery, FunnelRow } from '../store.ts'
import { createConditions, needsTraits } from './condition-queries.ts'
import type { Database, Dialect, Parameters } from './dialect.ts'
import { eventsFrom, labelledRows, PERSON } from './table-queries.ts'

/** The time of a step that does not happen, in ms: later than any event, even after an addition. */
const NEVER = 1e15

/** More than the ranks of steps with the same time. */
const RANKS = 16
const LAST_RANKED_TIME = `CAST(${NEVER * RANKS} AS BIGINT)`

type Row = Pick<FunnelRow, 'group' | 'other'> & {
  [name: `people${number}`]: bigint | number
  [name: `median${number}`]: number | null
}

/**
 * Runs a funnel query as one statement. Each event of the first step is joined with the earliest later event of the
 * second step, that with the earliest later one of the third, and so on. The best attempt of a person counts, the
 * earliest of equal ones. Events of the same time are in the order of the steps.
 */
export const measureFunnel = async (
  { dialect, query: run }: Database,
  query: FunnelQuery,
): Promise<FunnelRow[]> => {
  const parameters = dialect.parameters()
  const { steps, windowMs, breakdown, maxGroups, order } = query
  const indexes = steps.map((_, index) => index)
  const later = indexes.slice(1)
  const times = indexes.map((index) => `t${index}`)
  const labels = breakdown ? ['label'] : []
  const lastMoment = hasDistinctNames(query) ? LAST_RANKED_TIME : dialect.lastMoment
  const begins = `is0 AND t >= ${query.from} AND t < ${query.to}`
  const attempts =
    order === 'ordered'
      ? inOrder(steps.length, begins, labels, lastMoment)
      : inAnyOrder(steps.length, begins, labels, windowMs)
  const reached = later.toReversed().map((index) => `WHEN t${index} <= t0 + ${windowMs} THEN ${index + 1}`)
  const columns = ['level', ...times]
  const ranking = ['level DESC', 't0', ...labels, ...times.slice(1)]
  const grouping = { grouped: breakdown !== undefined, rank: 'count(*)', maxGroups }
  const people = indexes.map((index) => `count(*) FILTER (WHERE level > ${index}) AS people${index}`)
  const medians = later.map((index) => {
    const median = `${dialect.quantile(`t${index} - t${index - 1}`, 0.5)} FILTER (WHERE level > ${index})`
    return `${order === 'any' ? dialect.nullNumber : dialect.asNumber(median)} AS median${index}`
  })
  const text = `
    WITH step_events ${dialect.materialized} (${stepEvents(dialect, query, parameters)}),
    attempts AS (${attempts}),
    begun AS (
      SELECT *, CASE ${reached.join(' ')} ELSE 1 END AS level FROM attempts
    ),
    best ${dialect.materialized} (
      SELECT ${[...labels, ...times].join(', ')}, level FROM begun
      QUALIFY row_number() OVER (PARTITION BY person ORDER BY ${ranking.join(', ')}) = 1
    ),
    ${labelledRows(dialect, 'best', columns, grouping).join(', ')}
    SELECT label AS "group", other, ${[...people, ...medians].join(', ')} FROM labelled GROUP BY label, other`
  const rows = await run<Row>(query.projectId, text, parameters.bindings)
  return rows.flatMap((row) =>
    indexes
      .map((step) => ({
        group: row.group,
        other: Boolean(row.other),
        step,
        people: Number(row[`people${step}`]),
        medianMsFromPrevious: row[`median${step}`] ?? null,
      }))
      .filter((reached) => reached.people > 0),
  )
}

/**
 * Whether no event can be more than one step. Then time and step put the events of a person in order; otherwise events of
 * the same time and step need their keys as well, which compare more slowly.
 */
const hasDistinctNames = ({ steps }: FunnelQuery): boolean =>
  new Set(steps.map(({ eventName }) => eventName)).size === steps.length

/** The events of all steps with their person, time in ms, moment, label if any, and a flag for each step. */
const stepEvents = (dialect: Dialect, query: FunnelQuery, parameters: Parameters): string => {
  const { projectId, from, to, windowMs, steps, breakdown } = query
  const { allOf, textOf } = createConditions(dialect, parameters)
  const flags = steps.map(
    ({ eventName, filters }, index) =>
      `(e.event_name = ${parameters.text(eventName)} AND ${allOf(filters)}) AS is${index}`,
  )
  const names = new Set(steps.map(({ eventName }) => eventName))
  const hasFilters = steps.some(({ filters }) => filters.length > 0)
  const refs = steps.flatMap(({ filters }) => filters.map(({ property }) => property))
  const range = { projectId, from, to: to + windowMs + 1 }
  const source = eventsFrom(dialect, range, parameters, {
    people: true,
    traits: needsTraits([breakdown, ...refs]),
  })
  const firstStep = `CASE ${steps.map((_, index) => `WHEN is${index} THEN ${index}`).join(' ')} ELSE 0 END`
  // These rows are kept in memory or on disk, so they have nothing that the query does not need.
  const label = breakdown ? [`${textOf(breakdown)} AS label`] : []
  const [moment, key] = hasDistinctNames(query)
    ? [`t * ${RANKS} + ${firstStep}`, []]
    : [dialect.moment('t', firstStep, 'event_key'), ['e.event_key AS event_key']]
  const columns = [`${PERSON} AS person`, `${dialect.epochMs('e."time"')} AS t`, ...label, ...key, ...flags]
  return `
    SELECT *, ${moment} AS moment FROM (
      SELECT ${columns.join(', ')}
      ${source} AND e.event_name IN (${[...names].map((name) => parameters.text(name)).join(', ')})
        AND e.profile_id IS NOT NULL
    ) AS flagged ${hasFilters ? `WHERE ${steps.map((_, index) => `is${index}`).join(' OR ')}` : ''}`
}

/**
 * For each event of the first step that `begins` in the range, the time of the earliest event of each later step, each
 * after the one before; NULL when there is none.
 */
const inOrder = (count: number, begins: string, labels: readonly string[], lastMoment: string): string => {
  const later = Array.from({ length: count - 1 }, (_, index) => index + 1)
  const columns = ['person', ...labels]
  const joins = later.map((index) => {
    const before = index === 1 ? 's0.moment' : `coalesce(s${index - 1}.moment, ${lastMoment})`
    return `ASOF LEFT JOIN (SELECT person, t, moment FROM step_events WHERE is${index}) AS s${index}
      ON s${index}.person = s0.person AND s${index}.moment > ${before}`
  })
  return `
    SELECT ${columns.map((column) => `s0.${column} AS ${column}`).join(', ')}, s0.t AS t0,
      ${later.map((index) => `s${index}.t AS t${index}`).join(', ')}
    FROM (SELECT ${columns.join(', ')}, t, moment FROM step_events WHERE ${begins}) AS s0 ${joins.join(' ')}`
}

/**
 * For each event of the first step that `begins` in the range, whether each other step happens within the window after
 * it, in any order.
 */
const inAnyOrder = (count: number, begins: string, labels: readonly string[], windowMs: number): string => {
  const later = Array.from({ length: count - 1 }, (_, index) => index + 1)
  // Latest first, so that frames begin with the first row. A frame as long as the window could be too long for ClickHouse.
  const latestFirst = 'PARTITION BY person ORDER BY t DESC RANGE BETWEEN'
  const columns = later.flatMap((index) => {
    const counted = `CASE WHEN is${index} THEN 1 ELSE 0 END`
    return [
      // Without the event itself, which is the first step.
      `sum(${counted}) OVER (${latestFirst} CURRENT ROW AND CURRENT ROW) - ${counted} AS beside${index}`,
      `min(CASE WHEN is${index} THEN t END) OVER (${latestFirst} UNBOUNDED PRECEDING AND 1 PRECEDING) AS next${index}`,
    ]
  })
  const isDone = (index: number): string => `(beside${index} > 0 OR next${index} <= t + ${windowMs})`
  // A step counts once all previous steps have happened, in any order.
  const times = later.map((index) => {
    const all = later.filter((other) => other <= index).map(isDone)
    return `CASE WHEN ${all.join(' AND ')} THEN t ELSE ${NEVER} END AS t${index}`
  })
  return `
    SELECT ${['person', ...labels].join(', ')}, t AS t0, ${times.join(', ')}
    FROM (SELECT *, ${columns.join(', ')} FROM step_events) AS looked_ahead WHERE ${begins}`
}

import type { FunnelQuery, FunnelRow } from '../store.ts'
import { createConditions, needsTraits } from './conditions.ts'
import type { Database, Dialect, Parameters } from './dialect.ts'
import { eventsFrom, labelledRows, PERSON } from './tables.ts'

/** In place of the time of what never happens, in ms: later than any event, whatever is added to it. */
const NEVER = 1e15

type Row = Omit<FunnelRow, 'people' | 'step'> & { people: bigint | number; step: bigint | number }

/**
 * Answers a funnel by one statement. Of each event that is the first step, window functions find the earliest event of
 * the second step after it, of the third after that, and so on; the best attempt of a person counts, the earliest of
 * equals. Events of one moment are in the order of the steps.
 */
export const measureFunnel = async (
  { dialect, query: run }: Database,
  query: FunnelQuery,
): Promise<FunnelRow[]> => {
  const parameters = dialect.parameters()
  const { steps, windowMs, breakdown, maxGroups, order } = query
  const places = steps.map((_, place) => place)
  const later = places.slice(1)
  const times = places.map((place) => `t${place}`).join(', ')
  const attempts = order === 'ordered' ? inOrder(steps.length) : inAnyOrder(steps.length, windowMs)
  const reached = later.toReversed().map((place) => `WHEN t${place} <= t0 + ${windowMs} THEN ${place + 1}`)
  const columns = ['level', ...places.map((place) => `t${place}`)]
  const grouping = { grouped: breakdown !== undefined, rank: 'count(*)', maxGroups }
  const peopleAt = (place: number): string => `
    SELECT label AS "group", other, ${place} AS step, count(*) AS people,
      ${place === 0 || order === 'any' ? dialect.nullNumber : dialect.asNumber(dialect.quantile(`t${place} - t${place - 1}`, 0.5))}
      AS "medianMsFromPrevious"
    FROM labelled WHERE level > ${place} GROUP BY label, other`
  const text = `
    WITH step_events AS (${stepEvents(dialect, query, parameters)}),
    attempts AS (${attempts}),
    begun AS (
      SELECT person, label, ${times}, CASE ${reached.join(' ')} ELSE 1 END AS level FROM attempts
      WHERE t0 >= ${query.from} AND t0 < ${query.to}
    ),
    best ${dialect.materialized} (
      SELECT label, ${times}, level FROM begun
      QUALIFY row_number() OVER (PARTITION BY person ORDER BY level DESC, t0, label) = 1
    ),
    ${labelledRows(dialect, 'best', columns, grouping).join(', ')}
    ${places.map(peopleAt).join(' UNION ALL ')}`
  const rows = await run<Row>(query.projectId, text, parameters.bindings)
  return rows.map((row) => ({
    ...row,
    step: Number(row.step),
    people: Number(row.people),
    other: Boolean(row.other),
  }))
}

/** The events of all steps with their person, time in ms, key, label, and one flag for each step that they are. */
const stepEvents = (dialect: Dialect, query: FunnelQuery, parameters: Parameters): string => {
  const { projectId, from, to, windowMs, steps, breakdown } = query
  const { allOf, textOf } = createConditions(dialect, parameters)
  const flags = steps.map(
    ({ eventName, filters }, place) =>
      `(e.event_name = ${parameters.text(eventName)} AND ${allOf(filters)}) AS is${place}`,
  )
  const names = new Set(steps.map(({ eventName }) => eventName))
  const refs = steps.flatMap(({ filters }) => filters.map(({ property }) => property))
  const range = { projectId, from, to: to + windowMs + 1 }
  const source = eventsFrom(dialect, range, parameters, {
    people: true,
    traits: needsTraits([breakdown, ...refs]),
  })
  return `
    SELECT * FROM (
      SELECT ${PERSON} AS person, ${dialect.epochMs('e."time"')} AS t, ${dialect.sortable('e.event_key')} AS event_key,
        ${breakdown ? textOf(breakdown) : dialect.nullText} AS label, ${flags.join(', ')}
      ${source} AND e.event_name IN (${[...names].map((name) => parameters.text(name)).join(', ')})
    ) AS flagged
    WHERE person IS NOT NULL AND (${steps.map((_, place) => `is${place}`).join(' OR ')})`
}

/**
 * For each event of the first step, the time of the earliest event of each later step, each after the one before.
 * From the last step to the first: what follows an event of a step is known before that event is looked for. The least
 * time is that of the earliest event, since no later event of a step leads to an earlier one of the next.
 */
const inOrder = (count: number): string => {
  const places = Array.from({ length: count }, (_, place) => place)
  const firstStep = places.map((place) => `WHEN is${place} THEN ${place}`).join(' ')
  const kept = ['person', 'label', 't', 'event_key', ...places.map((place) => `is${place}`)].join(', ')
  const earliest = (place: number, time: string): string =>
    `coalesce(min(CASE WHEN is${place} THEN ${time} END) OVER later_events, ${NEVER})`
  let table = 'step_events'
  for (let place = count - 1; place > 0; place--) {
    const times = places
      .filter((later) => later >= place)
      .map((later) => `${earliest(place, later === place ? 't' : `t${later}`)} AS t${later}`)
    table = `(
      SELECT ${kept}, ${times.join(', ')} FROM ${table} AS from_step_${place}
      WINDOW later_events AS (
        PARTITION BY person ORDER BY t DESC, CASE ${firstStep} END DESC, event_key DESC
        ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING
      )
    )`
  }
  const times = places.slice(1).map((place) => `t${place}`)
  return `SELECT person, label, t AS t0, ${times.join(', ')} FROM ${table} AS chained WHERE is0`
}

/** For each event of the first step, whether each other step happens within the window from it, in whatever order. */
const inAnyOrder = (count: number, windowMs: number): string => {
  const later = Array.from({ length: count - 1 }, (_, place) => place + 1)
  const done = later.map(
    (place) => `max(CASE WHEN is${place} THEN 1 ELSE 0 END) OVER (
      PARTITION BY person ORDER BY t RANGE BETWEEN CURRENT ROW AND ${windowMs} FOLLOWING
    ) AS done${place}`,
  )
  // A step counts once all steps before it have happened too; when does not matter then.
  const times = later.map((place) => {
    const all = later.filter((other) => other <= place).map((other) => `done${other} = 1`)
    return `CASE WHEN ${all.join(' AND ')} THEN t ELSE ${NEVER} END AS t${place}`
  })
  return `
    SELECT person, label, t AS t0, ${times.join(', ')}
    FROM (SELECT person, label, t, is0, ${done.join(', ')} FROM step_events) AS looked_ahead WHERE is0`
}

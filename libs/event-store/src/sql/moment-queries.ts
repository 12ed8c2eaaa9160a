import type { Moment, MomentsQuery, SampledMoments } from '../store.ts'
import type { Database, Dialect, Parameters } from './dialect.ts'
import { eventsFrom, PERSON } from './table-queries.ts'

type Row = { profile_id: string; time_ms: bigint | number | string; event_name: string; bot: boolean }

/** Samples people with an event in a range, and reads their moments; see `EventQueries`. */
export const sampleMoments = async (database: Database, query: MomentsQuery): Promise<SampledMoments> => {
  const { people, lastId } = await choosePeople(database, query)
  if (lastId === undefined) return { people, moments: [] }
  return { people, moments: await readMoments(database, query, lastId) }
}

/** How many people have a moment in the range, and the greatest id of those that are chosen. */
const choosePeople = async (
  { dialect, query: run }: Database,
  query: MomentsQuery,
): Promise<{ people: number; lastId: string | undefined }> => {
  const parameters = dialect.parameters()
  const order = `OVER (ORDER BY ${dialect.sortable('person.id')} ROWS BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW)`
  const isChosen = `ranked.place = 1 OR
    (ranked.place <= ${query.maxPeople} AND ranked.moments <= ${query.maxMoments})`
  const [row] = await run<{ people: bigint | number | string; last_id: string | null }>(
    query.projectId,
    `WITH person AS (${peopleOf(dialect, query, parameters)}),
    ranked AS (
      SELECT person.id AS id, row_number() ${order} AS place, sum(person.moments) ${order} AS moments FROM person
    )
    SELECT count(*) AS people,
      ${dialect.lastBy(dialect.asText('ranked.id'), `CASE WHEN ${isChosen} THEN ranked.place ELSE 0 END`)} AS last_id
    FROM ranked`,
    parameters.bindings,
  )
  const people = Number(row?.people ?? 0)
  return { people, lastId: people === 0 ? undefined : (row?.last_id ?? undefined) }
}

/** The moments of the people up to an id, by person and time. */
const readMoments = async (
  { dialect, query: run }: Database,
  query: MomentsQuery,
  lastId: string,
): Promise<Moment[]> => {
  const parameters = dialect.parameters()
  const isChosen = `${dialect.sortable(PERSON)} <= ${dialect.sortable(parameters.uuid(lastId))}`
  const rows = await run<Row>(
    query.projectId,
    `WITH person AS (${peopleOf(dialect, query, parameters, isChosen)})
    SELECT ${dialect.asText(PERSON)} AS profile_id, ${dialect.epochMs('e."time"')} AS time_ms,
      e.event_name AS event_name, e.bot AS bot
    ${momentsFrom(dialect, query, parameters)} AND ${isChosen} AND ${PERSON} IN (SELECT id FROM person)
    ORDER BY ${dialect.sortable(PERSON)}, e."time", ${dialect.sortable('e.event_key')}
    LIMIT ${query.maxMoments}`,
    parameters.bindings,
  )
  return rows.map(({ profile_id, time_ms, event_name, bot }) => ({
    profileId: profile_id,
    at: Number(time_ms),
    eventName: event_name,
    bot,
  }))
}

/** Selects the people who have a moment in the range, with the number of what is to be read of them. */
const peopleOf = (
  dialect: Dialect,
  query: MomentsQuery,
  parameters: Parameters,
  condition = 'true',
): string => `
  SELECT ${PERSON} AS id, count(*) AS moments ${momentsFrom(dialect, query, parameters)} AND ${condition}
  GROUP BY id HAVING sum(CASE WHEN ${inRange(query, parameters)} THEN 1 ELSE 0 END) > 0`

const momentsFrom = (dialect: Dialect, query: MomentsQuery, parameters: Parameters): string => {
  const { projectId, from, countedFrom, to, countedEvents } = query
  const scope = { projectId, from: Math.min(from, countedFrom), to, includeBots: true }
  const counted =
    countedEvents.length === 0
      ? 'false'
      : `e."time" >= ${parameters.time(countedFrom)} AND
          ${dialect.isOneOf(
            'e.event_name',
            countedEvents.map((name) => parameters.text(name)),
          )}`
  return `${eventsFrom(dialect, scope, parameters, { people: true })} AND e.profile_id IS NOT NULL
    AND ((${inRange(query, parameters)}) OR (${counted}))`
}

const inRange = ({ from, eventName }: MomentsQuery, parameters: Parameters): string =>
  `e."time" >= ${parameters.time(from)} AND NOT e.bot ${
    eventName === undefined ? '' : `AND e.event_name = ${parameters.text(eventName)}`
  }`

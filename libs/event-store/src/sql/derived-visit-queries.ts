import type { WebQuery } from '../store.ts'
import { CHANNEL_RULES } from './channel-queries.ts'
import { createConditions, needsTraits } from './condition-queries.ts'
import type { Database, Dialect, Parameters } from './dialect.ts'
import { eventsFrom, PERSON } from './table-queries.ts'
import {
  columnsOfPart,
  DAY_MS,
  NO_SESSION,
  type PartColumns,
  seenColumns,
  storedVisitor,
} from './visit-part-queries.ts'

/*
 * The parts of visits are derived once for each day (UTC) that has ended: `visit_parts` has the events of a visitor, as it
 * was stored with the event, by session, or without sessions by gaps, within one day. `visit_days` names the build that
 * counts, `visit_changes` the visitors whose events of a day have changed since. A query reads the parts of derived days
 * and the events of everything else, and joins what belongs together: parts of several days or of merged people.
 */

/** How often a query starts again because the days that it reads were derived again meanwhile. */
const ATTEMPTS = 5

type DerivedDay = {
  day: number
  build: string
  /** The visitors that have changed since. */
  changes: number
  /** The version of which changes are later. */
  changedSince: string
}

/** What a query reads from derived days and what from events, by time in ms. */
export type DerivedDays = {
  /** The builds to read, of the days `first` to `last`. */
  builds: readonly DerivedDay[]
  /** Builds of the days in which the range begins or ends, whose parts may lie on both sides. */
  cut: readonly DerivedDay[]
  /** Ranges without a build, whose events are read. */
  open: readonly Range[]
  /** Ranges of builds of which the events of some visitors are read: those that have changed or lie on both sides. */
  partial: readonly Range[]
}
type Range = { from: number; to: number }

const readDays = async (
  { dialect, query: run, changeMarginUs = 0 }: Database,
  { projectId, from, to }: WebQuery,
): Promise<DerivedDay[]> => {
  const parameters = dialect.parameters()
  const project = parameters.projectId(projectId)
  const text = `
    SELECT d.day AS day, ${dialect.asText('d.build')} AS build, ${dialect.asText(`d.build - ${changeMarginUs}`)} AS since,
      sum(CASE WHEN c.version > d.build - ${changeMarginUs} THEN 1 ELSE 0 END) AS changes
    FROM visit_days AS d LEFT JOIN (
      SELECT day, version FROM visit_changes WHERE project_id = ${project}
    ) AS c ON c.day = d.day
    WHERE d.project_id = ${project} AND d.build > 0 AND d.rules = ${CHANNEL_RULES}
      AND d.day >= ${Math.floor(from / DAY_MS)} AND d.day < ${Math.ceil(to / DAY_MS)}
    GROUP BY d.day, d.build ORDER BY d.day`
  type Row = { day: number; build: string; since: string; changes: bigint | number }
  const rows = await run<Row>(projectId, text, parameters.bindings)
  return rows.map(({ day, build, since, changes }) => ({
    day: Number(day),
    build,
    changes: Number(changes),
    changedSince: since,
  }))
}

/** Ranges that follow each other as one. */
const unite = (ranges: readonly Range[]): Range[] => {
  const united: Range[] = []
  for (const range of ranges) {
    const last = united.at(-1)
    if (last?.to === range.from) last.to = range.to
    else united.push({ ...range })
  }
  return united
}

const planOf = ({ from, to }: WebQuery, days: readonly DerivedDay[]): DerivedDays => {
  const rangeOf = (day: number): Range => ({
    from: Math.max(from, day * DAY_MS),
    to: Math.min(to, (day + 1) * DAY_MS),
  })
  const isCut = ({ day }: DerivedDay): boolean => rangeOf(day).to - rangeOf(day).from < DAY_MS
  const ends = [from, ...days.flatMap(({ day }) => [rangeOf(day).from, rangeOf(day).to]), to]
  const gaps = Array.from({ length: days.length + 1 }, (_, index) => ({
    from: ends[2 * index] as number,
    to: ends[2 * index + 1] as number,
  }))
  return {
    builds: days,
    cut: days.filter(isCut),
    open: unite(gaps.filter((gap) => gap.from < gap.to)),
    partial: unite(days.filter((day) => day.changes > 0 || isCut(day)).map(({ day }) => rangeOf(day))),
  }
}

/** Runs a query on the derived days of its range, and again when these change meanwhile. */
export const withDerivedDays = async <T>(
  database: Database,
  query: WebQuery,
  run: (days: DerivedDays) => Promise<T>,
): Promise<T> => {
  // Events have to be read to be filtered.
  if (query.filters.length > 0) return run(planOf(query, []))
  let days = await readDays(database, query)
  for (let attempt = 1; attempt < ATTEMPTS; attempt++) {
    const result = await run(planOf(query, days))
    if (days.length === 0) return result
    const daysAfter = await readDays(database, query)
    if (isSame(days, daysAfter)) return result
    days = daysAfter
  }
  return run(planOf(query, []))
}

const isSame = (some: readonly DerivedDay[], others: readonly DerivedDay[]): boolean => {
  const builds = new Set(others.map(({ build, day }) => `${day} ${build}`))
  return some.every(({ build, day }) => builds.has(`${day} ${build}`))
}

const inAny = (ranges: readonly Range[], parameters: Parameters): string =>
  `(${ranges
    .map(({ from, to }) => `e."time" >= ${parameters.time(from)} AND e."time" < ${parameters.time(to)}`)
    .join(' OR ')})`

/** Selects the events that a query reads: all of days without a build, and of others those of the visitors in `changed`. */
export const seenEvents = (
  dialect: Dialect,
  query: WebQuery,
  { open, partial }: DerivedDays,
  parameters: Parameters,
): string => {
  const { allOf } = createConditions(dialect, parameters)
  const selectFrom = (ranges: readonly Range[], isChanged: boolean): string => {
    const from = eventsFrom(
      dialect,
      { ...query, from: ranges[0]?.from ?? query.to, to: ranges.at(-1)?.to ?? query.to },
      parameters,
      { people: true, traits: needsTraits(query.filters.map(({ property }) => property)) },
    )
    return `
      SELECT coalesce(${PERSON}, ${dialect.hashedUuid('e.visitor_id')}) AS visitor, ${seenColumns(dialect)},
        CASE WHEN ${allOf(query.filters)} THEN 1 ELSE 0 END AS matched
      ${from} AND (e.profile_id IS NOT NULL OR e.visitor_id IS NOT NULL)
        ${ranges.length > 1 ? `AND ${inAny(ranges, parameters)}` : ''}
        ${isChanged ? `AND ${dialect.isPairIn([dialect.dayOf('e."time"'), storedVisitor(dialect)], 'changed', ['day', 'visitor'])}` : ''}`
  }
  const selects = [
    ...(open.length > 0 || partial.length === 0 ? [selectFrom(open, false)] : []),
    ...(partial.length > 0 ? [selectFrom(partial, true)] : []),
  ]
  return selects.join(' UNION ALL ')
}

/** Common table expressions that end in `derived`: the parts that lie in the range and have not changed. */
export const derivedTables = (
  dialect: Dialect,
  { projectId, from, to }: WebQuery,
  { builds, cut, partial }: DerivedDays,
  parameters: Parameters,
): string[] => {
  const project = parameters.projectId(projectId)
  // A value that is bound must occur in the statement.
  const [begin, end] = cut.length > 0 ? [parameters.time(from), parameters.time(to)] : []
  const changedBuilds = builds.filter(({ changes }) => changes > 0)
  const changed = [
    ...changedBuilds.map(
      ({ day, changedSince }) =>
        `SELECT day, visitor FROM visit_changes WHERE project_id = ${project} AND day = ${day} AND version > ${changedSince}`,
    ),
    ...cut.map(
      ({ day, build }) =>
        `SELECT day, visitor FROM visit_parts WHERE project_id = ${project} AND day = ${day} AND build = ${build}
           AND (began < ${begin} AND ended >= ${begin} OR began < ${end} AND ended >= ${end})`,
    ),
  ]
  const isUnchanged =
    partial.length > 0
      ? `AND NOT (${dialect.isPairIn(['v.day', 'v.visitor'], 'changed', ['day', 'visitor'])})`
      : ''
  return [
    `merges AS (
      SELECT profile_id, merged_into FROM ${dialect.profiles} WHERE project_id = ${project} AND merged_into IS NOT NULL
    )`,
    'merged AS (SELECT profile_id AS id FROM merges UNION ALL SELECT merged_into AS id FROM merges)',
    ...(partial.length > 0 ? [`changed AS (${changed.join(' UNION ALL ')})`] : []),
    `derived ${dialect.inlined} (
      SELECT v.* FROM visit_parts AS v
      WHERE v.project_id = ${project} AND v.day >= ${builds[0]?.day} AND v.day <= ${builds.at(-1)?.day}
        AND v.build IN (${builds.map(({ build }) => build).join(', ')})
        ${cut.length > 0 ? `AND v.began >= ${begin} AND v.ended < ${end}` : ''} ${isUnchanged}
    )`,
  ]
}

const IS_OPEN = 'is_open OR visitor IN (SELECT id FROM merged)'
/** Whether a part of `derived` may belong to a visit with others. */
export const IS_TOUCHING = `${IS_OPEN} OR session IN (SELECT session FROM open_sessions)`

/** Common table expressions that end in `touching`: the parts that may belong together, by person. */
export const touchingParts = (dialect: Dialect, columns: PartColumns): string[] => {
  const names = ['session', 'began', 'ended', 'views', 'converted', ...columnsOfPart(columns)]
  return [
    `open_sessions AS (
      SELECT session FROM derived WHERE (${IS_OPEN}) AND session <> ${NO_SESSION}
      UNION ALL
      SELECT ${dialect.hashedUuid('session_name')} AS session FROM seen WHERE session_name IS NOT NULL
    )`,
    `near AS (SELECT * FROM derived WHERE ${IS_TOUCHING})`,
    `touching AS (
      SELECT coalesce(m.merged_into, near.visitor) AS visitor, ${names.map((name) => `near.${name} AS ${name}`).join(', ')}
      FROM near LEFT JOIN merges AS m ON m.profile_id = near.visitor
      UNION ALL
      SELECT visitor, ${names.join(', ')} FROM parts
    )`,
  ]
}

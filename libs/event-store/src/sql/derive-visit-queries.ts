import { VISIT_GAP_MS } from '../store.ts'
import { CHANNEL_RULES } from './channel-queries.ts'
import type { Bindings, Database, Dialect } from './dialect.ts'
import { eventsFrom } from './table-queries.ts'
import {
  columnsOfPart,
  DAY_MS,
  NO_SESSION,
  PAGE_VIEW,
  partsOfTracked,
  seenColumns,
  storedVisitor,
} from './visit-part-queries.ts'

/** A day (UTC) of a project, as the number of days since 1970. */
export type ProjectDay = { projectId: string; day: number }

/** A day to derive. */
export type DueDay = ProjectDay & { events: number }

/** Events of a portion, which take some hundred bytes of memory each. */
const PORTION_EVENTS = 500_000

const EVERYTHING = { views: true, paths: true, conversions: true }

/** The columns of `visit_parts`. */
const COLUMNS = [
  'project_id',
  'day',
  'build',
  'visitor',
  'session',
  'is_open',
  'began',
  'ended',
  'views',
  'converted',
  ...columnsOfPart(EVERYTHING),
].join(', ')

export type BoundStatement = { text: string; bindings: Bindings }

/** Statements that derive the parts of visits of a day as a build. Each is of a part of the visitors, to bound its memory. */
export const deriveStatements = (
  dialect: Dialect,
  { projectId, day, events }: DueDay,
  build: number,
): BoundStatement[] => {
  const portions = Math.max(1, Math.ceil(events / PORTION_EVENTS))
  return Array.from({ length: portions }, (_, portion) => {
    const parameters = dialect.parameters()
    const project = parameters.projectId(projectId)
    const range = { from: day * DAY_MS, to: (day + 1) * DAY_MS }
    const from = eventsFrom(dialect, { projectId, ...range }, parameters)
    const isAtEdge = `began < ${parameters.time(range.from + VISIT_GAP_MS)} OR ended >= ${parameters.time(range.to - VISIT_GAP_MS)}`
    const text = `
      INSERT INTO visit_parts (${COLUMNS})
      WITH tracked AS (
        SELECT ${storedVisitor(dialect)} AS visitor, ${seenColumns(dialect)}, 1 AS matched
        ${from} AND (e.profile_id IS NOT NULL OR e.visitor_id IS NOT NULL)
          AND ${dialect.isInPart(storedVisitor(dialect), portion, portions)}
      ),
      ${partsOfTracked(dialect, EVERYTHING).join(', ')},
      known AS (
        SELECT session FROM visit_parts
        WHERE project_id = ${project} AND day <> ${day} AND session IN (SELECT session FROM parts)
      )
      SELECT ${project}, ${day}, ${build}, visitor, session,
        CASE WHEN session = ${NO_SESSION} THEN ${isAtEdge} ELSE session IN (SELECT session FROM known) END,
        began, ended, views, converted, ${columnsOfPart(EVERYTHING).join(', ')}
      FROM parts`
    return { text, bindings: parameters.bindings }
  })
}

/** How long after its end a day is derived, in ms, so that no event of it is still stored as one of the present day. */
const SETTLING_MS = 60 * 60 * 1_000

/** The events of days that may have been derived. */
export const eventsOfEndedDays = <E extends { timestamp: string }>(events: readonly E[]): E[] => {
  const today = Math.floor(Date.now() / DAY_MS) * DAY_MS
  return events.filter(({ timestamp }) => Date.parse(timestamp) < today)
}

/** Which days to derive, by time in ms. */
export type DueBefore = {
  /** Only days that ended before this time. */
  endedBefore: number
  /** Only days without a build, and those with a change before this time since. */
  changedBefore: number
}

/** Days with page views that are to be derived, the latest first. */
export const findDueDays = async (
  { dialect, query: run, changeMarginUs = 0 }: Database,
  { endedBefore, changedBefore }: DueBefore,
): Promise<DueDay[]> => {
  const parameters = dialect.parameters()
  const day = dialect.dayOf('e."time"')
  const viewed = `
    SELECT ${dialect.asText('e.project_id')} AS project_id, ${day} AS day
    FROM ${dialect.events}
    WHERE e.event_name = '${PAGE_VIEW}' AND e."time" >= ${parameters.time(0)} AND e."time" < ${parameters.time(Math.floor(endedBefore / DAY_MS) * DAY_MS)}
    GROUP BY ${dialect.asText('e.project_id')}, ${day} ${dialect.ofAnyVersion}`
  type Day = { project_id: string; day: number }
  const days = await run<Day>('', viewed, parameters.bindings)
  const built = await run<Day & { is_due: number }>(
    '',
    `SELECT ${dialect.asText('d.project_id')} AS project_id, d.day AS day,
       max(CASE WHEN c.version > d.build - ${changeMarginUs} AND c.version <= ${changedBefore * 1_000} THEN 1 ELSE 0 END) AS is_due
     FROM visit_days AS d LEFT JOIN visit_changes AS c ON c.project_id = d.project_id AND c.day = d.day
     WHERE d.build > 0 AND d.rules = ${CHANNEL_RULES} GROUP BY d.project_id, d.day`,
    {},
  )
  const current = new Set(
    built.filter((one) => Number(one.is_due) === 0).map((one) => `${one.project_id} ${one.day}`),
  )
  const due = days.filter((one) => !current.has(`${one.project_id} ${one.day}`))
  due.sort((a, b) => Number(b.day) - Number(a.day))
  return due.map(({ project_id, day: at }) => ({ projectId: project_id, day: Number(at), events: 0 }))
}

/** The number of events of a day, repeats included. */
export const countEvents = async (
  { dialect, query: run }: Database,
  { projectId, day }: ProjectDay,
): Promise<number> => {
  const parameters = dialect.parameters()
  const from = eventsFrom(
    dialect,
    { projectId, from: day * DAY_MS, to: (day + 1) * DAY_MS, includeBots: true },
    parameters,
  )
  const rows = await run<{ n: bigint | number }>(
    projectId,
    `SELECT count(*) AS n ${from} ${dialect.ofAnyVersion}`,
    parameters.bindings,
  )
  return Number(rows[0]?.n ?? 0)
}

/**
 * Derives one day at a time. A day that could not be derived is left out until all others are, so that they follow.
 * @param derive derives a day as a build that replaces earlier ones
 */
export const createVisitDerivation = (
  database: Database,
  derive: (day: DueDay) => Promise<void>,
): ((due: DueBefore) => Promise<boolean>) => {
  let waiting: DueDay[] = []
  const failed = new Set<string>()
  return async (due) => {
    const endedBefore = Math.min(due.endedBefore, Date.now() - SETTLING_MS)
    if (waiting.length === 0) waiting = await findDueDays(database, { ...due, endedBefore })
    waiting = waiting.filter(({ projectId, day }) => !failed.has(`${projectId} ${day}`))
    const next = waiting.shift()
    if (!next) {
      failed.clear()
      return false
    }
    try {
      await derive({ ...next, events: await countEvents(database, next) })
    } catch (error) {
      failed.add(`${next.projectId} ${next.day}`)
      throw error
    }
    return true
  }
}

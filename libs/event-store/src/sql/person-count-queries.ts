import type { PersonCount, PersonCountsQuery } from '../store.ts'
import type { Database } from './dialect.ts'

const DAY_MS = 24 * 60 * 60 * 1000

/** How often people had an event on each day, by the ids that events were stored with, in the order of these. */
export const countByPerson = async (
  { dialect, query: run }: Database,
  { projectId, eventName, from, receivedBefore, after, people }: PersonCountsQuery,
): Promise<PersonCount[]> => {
  const parameters = dialect.parameters()
  const conditions = `e.project_id = ${parameters.projectId(projectId)} AND NOT e.erased
    AND e.event_name = ${parameters.text(eventName)} AND e."time" >= ${parameters.time(from)}
    AND e.received_at < ${parameters.time(receivedBefore)} AND e.profile_id IS NOT NULL`
  const sortKey = dialect.sortable('e.profile_id')
  const isNext = after === undefined ? '' : `AND ${sortKey} > ${dialect.sortable(parameters.uuid(after))}`
  const day = `floor(${dialect.epochMs('e."time"')} / ${DAY_MS}.0)`
  const rows = await run<{ profile_id: string; day: number | string; n: bigint | number | string }>(
    projectId,
    `SELECT ${dialect.asText('e.profile_id')} AS profile_id, ${dialect.asNumber(day)} AS day,
       ${dialect.asNumber('count(*)')} AS n
     FROM ${dialect.events}
     WHERE ${conditions} AND e.profile_id IN (
       SELECT e.profile_id FROM ${dialect.events} WHERE ${conditions} ${isNext}
       GROUP BY e.profile_id ORDER BY ${sortKey} LIMIT ${people}
     )
     GROUP BY e.profile_id, ${day} ORDER BY ${sortKey}, ${day}`,
    parameters.bindings,
  )
  return rows.map(({ profile_id, day, n }) => ({
    profileId: profile_id,
    day: new Date(Number(day) * DAY_MS).toISOString().slice(0, 10),
    n: Number(n),
  }))
}

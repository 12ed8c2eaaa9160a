import { fulfils, type PropertyRef } from '@waymark/domain/analytics'
import type { ProfilesQuery } from '../store.ts'
import { createConditions } from './condition-queries.ts'
import type { Database } from './dialect.ts'
import { END, eventsFrom, PERSON, peopleWithTraits } from './table-queries.ts'

const EMAIL: PropertyRef = { source: 'traits', path: ['email'] }

/** The ids of profiles by their traits, the greatest first. */
export const findProfiles = async (
  { dialect, query: run }: Database,
  { projectId, filters, emails, below, limit }: ProfilesQuery,
): Promise<string[]> => {
  const parameters = dialect.parameters()
  const { allOf, textOf } = createConditions(dialect, parameters)
  const id = dialect.sortable('person.profile_id')
  const conditions = [allOf(filters)]
  if (emails !== undefined) {
    const begins = emails.map((email) =>
      dialect.startsWith(dialect.lower(textOf(EMAIL)), dialect.lower(parameters.text(email))),
    )
    conditions.push(`(${begins.join(' OR ')})`)
  }
  if (below !== undefined) conditions.push(`${id} < ${dialect.sortable(parameters.uuid(below))}`)
  const known = peopleWithTraits(dialect, projectId, parameters)
  // If people without traits match, everyone who has only events may.
  const isForAnyone = emails === undefined && filters.every((filter) => fulfils(undefined, filter))
  const events = { projectId, from: 0, to: END, includeBots: true }
  const people = isForAnyone
    ? `
      SELECT coalesce(seen.id, known.profile_id) AS profile_id, coalesce(known.traits, '{}') AS traits
      FROM (
        SELECT DISTINCT ${PERSON} AS id ${eventsFrom(dialect, events, parameters, { people: true })}
          AND e.profile_id IS NOT NULL
      ) AS seen FULL JOIN (${known}) AS known ON known.profile_id = seen.id`
    : known
  const rows = await run<{ profile_id: string }>(
    projectId,
    `SELECT ${dialect.asText('person.profile_id')} AS profile_id FROM (${people}) AS person
     WHERE ${conditions.join(' AND ')} ORDER BY ${id} DESC LIMIT ${limit}`,
    parameters.bindings,
  )
  return rows.map(({ profile_id }) => profile_id)
}

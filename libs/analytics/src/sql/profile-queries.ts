import type { PropertyRef } from '@waymark/domain'
import type { ProfilesQuery } from '../store.ts'
import { createConditions } from './condition-queries.ts'
import type { Database } from './dialect.ts'

const EMAIL: PropertyRef = { source: 'traits', path: ['email'] }

/** The ids of profiles by their traits, the greatest first. */
export const findProfiles = async (
  { dialect, query: run }: Database,
  { projectId, filters, email, below, limit }: ProfilesQuery,
): Promise<string[]> => {
  const parameters = dialect.parameters()
  const { allOf, textOf } = createConditions(dialect, parameters)
  const id = dialect.sortable('person.profile_id')
  const conditions = [
    `person.project_id = ${parameters.projectId(projectId)}`,
    'person.merged_into IS NULL',
    allOf(filters),
  ]
  if (email !== undefined) {
    const prefix = `lower(${parameters.text(email)})`
    conditions.push(dialect.startsWith(`lower(${textOf(EMAIL)})`, prefix))
  }
  if (below !== undefined) conditions.push(`${id} < ${dialect.sortable(parameters.uuid(below))}`)
  const rows = await run<{ profile_id: string }>(
    projectId,
    `SELECT ${dialect.asText('person.profile_id')} AS profile_id FROM ${dialect.profiles} AS person
     WHERE ${conditions.join(' AND ')} ORDER BY ${id} DESC LIMIT ${limit}`,
    parameters.bindings,
  )
  return rows.map(({ profile_id }) => profile_id)
}

import { bulkColumns } from '@waymark/database'
import { type Identity, type IdentityKind, profileIdOf } from '@waymark/domain'
import type { ClientBase, Pool } from 'pg'

/** Whom an event names. */
export type PersonRef = { projectId: string; visitorId: string | null; userId: string | null }

type Row = { project_id: string; kind: IdentityKind; value: string; profile_id: string }

const keys = bulkColumns<Identity>([
  { name: 'project_id', type: 'uuid', of: ({ projectId }) => projectId },
  { name: 'kind', type: 'text', of: ({ kind }) => kind },
  { name: 'value', type: 'text', of: ({ value }) => value },
])
const columns = bulkColumns<Identity>([
  { name: 'project_id', type: 'uuid', of: ({ projectId }) => projectId },
  { name: 'kind', type: 'text', of: ({ kind }) => kind },
  { name: 'value', type: 'text', of: ({ value }) => value },
  { name: 'profile_id', type: 'uuid', of: profileIdOf },
])

const FIND = `
  SELECT project_id, kind, value, profile_id FROM ${keys.unnest} AS wanted (${keys.names})
  JOIN ingest.identities USING (project_id, kind, value)`

// In key order, as everywhere else, so that writers wait for each other instead of deadlocking.
const CREATE = `
  WITH created AS (
    INSERT INTO ingest.identities (${columns.names})
    SELECT * FROM ${columns.unnest} AS wanted (${columns.names}) ORDER BY project_id, kind, value
    ON CONFLICT DO NOTHING RETURNING ${columns.names}
  ), profiles AS (
    INSERT INTO ingest.profiles (id, project_id, bucketing_id, user_id)
    SELECT profile_id, project_id, value, CASE kind WHEN 'user' THEN value END FROM created ORDER BY profile_id
    ON CONFLICT DO NOTHING
  )
  SELECT ${columns.names} FROM created`

/**
 * The profiles that events belong to, in the order of `people`: the user's if one is named, else the visitor's, `null`
 * when neither is. Profiles are created at first sight. Reads the primary database every time and remembers nothing, so
 * that it sees every identify that was answered before. One statement when everybody is known, two when somebody is new.
 */
export const resolveProfiles = async (
  db: Pool | ClientBase,
  people: readonly PersonRef[],
): Promise<(string | null)[]> => {
  const wanted = new Map<string, Identity>()
  for (const person of people) {
    const identity = identityIn(person)
    if (identity) wanted.set(keyOf(identity), identity)
  }
  const profileIds = new Map<string, string>()
  const missing = () => [...wanted].flatMap(([key, identity]) => (profileIds.has(key) ? [] : [identity]))
  const ask = async (name: string, text: string, { values }: typeof keys): Promise<void> => {
    const identities = missing()
    if (identities.length === 0) return
    const { rows } = await db.query<Row>({ name, text, values: values(identities) })
    for (const row of rows) profileIds.set(keyOf({ ...row, projectId: row.project_id }), row.profile_id)
  }

  await ask('find-identities', FIND, keys)
  await ask('create-identities', CREATE, columns)
  // Somebody else created them in this very moment.
  await ask('find-identities', FIND, keys)
  return people.map((person) => {
    const identity = identityIn(person)
    return identity ? (profileIds.get(keyOf(identity)) ?? null) : null
  })
}

const identityIn = ({ projectId, visitorId, userId }: PersonRef): Identity | undefined => {
  if (userId !== null) return { projectId, kind: 'user', value: userId }
  return visitorId === null ? undefined : { projectId, kind: 'visitor', value: visitorId }
}

const keyOf = ({ projectId, kind, value }: Identity): string => `${projectId}/${kind}/${value}`

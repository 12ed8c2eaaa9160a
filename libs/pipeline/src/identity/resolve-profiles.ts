import { bulkColumns } from '@waymark/database'
import { type Identity, type IdentityKind, profileIdOf } from '@waymark/domain'
import type { ClientBase, Pool } from 'pg'
import { joinErasure } from '../erasure/erased-records.ts'

/** Whom an event names, and when it was received (RFC 3339), unless that is now. */
export type PersonRef = {
  projectId: string
  visitorId: string | null
  userId: string | null
  receivedAt?: string
}

type Wanted = Identity & { receivedAt: string | null }

type Row = { project_id: string; kind: IdentityKind; value: string; profile_id: string }

const keys = bulkColumns<Identity>([
  { name: 'project_id', type: 'uuid', of: ({ projectId }) => projectId },
  { name: 'kind', type: 'text', of: ({ kind }) => kind },
  { name: 'value', type: 'text', of: ({ value }) => value },
])
const columns = bulkColumns<Wanted>([
  { name: 'project_id', type: 'uuid', of: ({ projectId }) => projectId },
  { name: 'kind', type: 'text', of: ({ kind }) => kind },
  { name: 'value', type: 'text', of: ({ value }) => value },
  { name: 'profile_id', type: 'uuid', of: profileIdOf },
  { name: 'received_at', type: 'timestamptz', of: ({ receivedAt }) => receivedAt },
])
const CREATED = 'project_id, kind, value, profile_id'

const FIND = `
  SELECT project_id, kind, value, profile_id FROM ${keys.unnest} AS wanted (${keys.names})
  JOIN ingest.identities USING (project_id, kind, value)`

// In key order, as everywhere else, so that writers wait for each other instead of deadlocking. Somebody who was erased
// comes back as a new person, and not by what was received before.
const CREATE = `
  WITH created AS (
    INSERT INTO ingest.identities (${CREATED})
    SELECT wanted.project_id, wanted.kind, wanted.value, coalesce(erasure.successor, wanted.profile_id)
    FROM ${columns.unnest} AS wanted (${columns.names}) ${joinErasure('wanted')}
    WHERE erasure.erased_at IS NULL OR wanted.received_at IS NULL OR wanted.received_at > erasure.erased_at
    ORDER BY 1, 2, 3
    ON CONFLICT DO NOTHING RETURNING ${CREATED}
  ), profiles AS (
    INSERT INTO ingest.profiles (id, project_id, bucketing_id, user_id)
    SELECT profile_id, project_id, value, CASE kind WHEN 'user' THEN value END FROM created ORDER BY profile_id
    ON CONFLICT DO NOTHING
  )
  SELECT ${CREATED} FROM created`

/**
 * The profiles that events belong to, in the order of `people`: the user's if one is named, else the visitor's, `null`
 * when neither is, or when it is somebody who was erased since. Profiles are created at first sight. Reads the primary database every time and remembers nothing, so
 * that it sees every identify that was answered before. One statement when everybody is known, two when somebody is new.
 */
export const resolveProfiles = async (
  db: Pool | ClientBase,
  people: readonly PersonRef[],
): Promise<(string | null)[]> => {
  const wanted = new Map<string, Wanted>()
  for (const person of people) {
    const identity = identityIn(person)
    if (!identity) continue
    const receivedAt = person.receivedAt ?? null
    const known = wanted.get(keyOf(identity))
    if (!known || isLater(receivedAt, known.receivedAt))
      wanted.set(keyOf(identity), { ...identity, receivedAt })
  }
  const profileIds = new Map<string, string>()
  const missing = () => [...wanted].flatMap(([key, identity]) => (profileIds.has(key) ? [] : [identity]))
  const ask = async (name: string, text: string, { values }: typeof columns): Promise<void> => {
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

/** Null stands for now. */
const isLater = (a: string | null, b: string | null): boolean =>
  b !== null && (a === null || Date.parse(a) > Date.parse(b))

const identityIn = ({ projectId, visitorId, userId }: PersonRef): Identity | undefined => {
  if (userId !== null) return { projectId, kind: 'user', value: userId }
  return visitorId === null ? undefined : { projectId, kind: 'visitor', value: visitorId }
}

const keyOf = ({ projectId, kind, value }: Identity): string => `${projectId}/${kind}/${value}`

import { bulkColumns } from '@waymark/database'
import {
  type Identity,
  type IdentityKind,
  isDailyVisitor,
  type Link,
  profileIdOf,
} from '@waymark/domain/identity'
import type { ClientBase, Pool } from 'pg'
import { joinErasure } from '../erasure/index.ts'

/** A locked identity and its profile. */
export type LockedIdentity = Identity & { profileId: string; link: Link | null }

type LockedRow = {
  project_id: string
  kind: IdentityKind
  value: string
  profile_id: string
  linked_at: Date | null
  linked_by: string | null
}

const lockColumns = bulkColumns<Identity>([
  { name: 'project_id', type: 'uuid', of: ({ projectId }) => projectId },
  { name: 'kind', type: 'text', of: ({ kind }) => kind },
  { name: 'value', type: 'text', of: ({ value }) => value },
  { name: 'profile_id', type: 'uuid', of: profileIdOf },
])

// In key order, so that writers do not deadlock. The update changes nothing, but locks the row and returns it.
const LOCK = `
  INSERT INTO ingest.identities AS known (${lockColumns.names})
  SELECT wanted.project_id, wanted.kind, wanted.value, coalesce(erasure.successor, wanted.profile_id)
  FROM ${lockColumns.unnest} AS wanted (${lockColumns.names}) ${joinErasure('wanted')} ORDER BY 1, 2, 3
  ON CONFLICT (project_id, kind, value) DO UPDATE SET profile_id = known.profile_id
  RETURNING project_id, kind, value, profile_id, linked_at, linked_by`

const pointColumns = bulkColumns<LockedIdentity>([
  { name: 'project_id', type: 'uuid', of: ({ projectId }) => projectId },
  { name: 'kind', type: 'text', of: ({ kind }) => kind },
  { name: 'value', type: 'text', of: ({ value }) => value },
  { name: 'profile_id', type: 'uuid', of: ({ profileId }) => profileId },
  { name: 'linked_at', type: 'timestamptz', of: ({ link }) => link?.at ?? null },
  { name: 'linked_by', type: 'uuid', of: ({ link }) => link?.by ?? null },
])

const POINT = `
  UPDATE ingest.identities AS known
  SET profile_id = given.profile_id, linked_at = given.linked_at, linked_by = given.linked_by
  FROM ${pointColumns.unnest} AS given (${pointColumns.names})
  WHERE (known.project_id, known.kind, known.value) = (given.project_id, given.kind, given.value)`

/**
 * Locks identities until the end of the transaction. A new one is created with the id of its future profile, which is a
 * new id after an erasure. To avoid deadlocks, lock all identities at once, and before profiles.
 */
export const lockIdentities = async (
  client: ClientBase,
  identities: readonly Identity[],
): Promise<LockedIdentity[]> => {
  const { rows } = await client.query<LockedRow>({
    name: 'lock-identities',
    text: LOCK,
    values: lockColumns.values(identities),
  })
  return rows.map(toIdentity)
}

/** Assigns locked identities to other profiles. */
export const pointIdentities = async (
  client: ClientBase,
  identities: readonly LockedIdentity[],
): Promise<void> => {
  await client.query({
    name: 'point-identities',
    text: POINT,
    values: pointColumns.values(identities),
  })
}

const toIdentity = (row: LockedRow): LockedIdentity => ({
  projectId: row.project_id,
  kind: row.kind,
  value: row.value,
  profileId: row.profile_id,
  link: row.linked_at && row.linked_by ? { at: row.linked_at.toISOString(), by: row.linked_by } : null,
})

/** The ids in an event, and when it was received (RFC 3339; default: now). */
type PersonRef = {
  projectId: string
  visitorId?: string | null
  userId?: string | null
  receivedAt?: string
}

type NewIdentity = Identity & { receivedAt: string | null }

type KnownRow = { project_id: string; kind: IdentityKind; value: string; profile_id: string }

const keys = bulkColumns<Identity>([
  { name: 'project_id', type: 'uuid', of: ({ projectId }) => projectId },
  { name: 'kind', type: 'text', of: ({ kind }) => kind },
  { name: 'value', type: 'text', of: ({ value }) => value },
])
const createColumns = bulkColumns<NewIdentity>([
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

// In key order, so that writers do not deadlock. An erased person gets a new profile, but only for what was received
// after the erasure.
const CREATE = `
  WITH created AS (
    INSERT INTO ingest.identities (${CREATED})
    SELECT wanted.project_id, wanted.kind, wanted.value, coalesce(erasure.successor, wanted.profile_id)
    FROM ${createColumns.unnest} AS wanted (${createColumns.names}) ${joinErasure('wanted')}
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
 * The profile ids of events, in the order of `people`: the user's if there is a `userId`, else the visitor's. `null`
 * without both ids, for the visitor of a day, or when the person was erased after the event was received. Creates missing profiles. It is not
 * cached, so that it sees every identify that was answered before.
 */
export const resolveProfiles = async (
  db: Pool | ClientBase,
  people: readonly PersonRef[],
): Promise<(string | null)[]> => {
  const wanted = new Map<string, NewIdentity>()
  const keysOfPeople = people.map((person) => {
    const identity = identityIn(person)
    if (!identity) return undefined
    const key = keyOf(identity)
    const receivedAt = person.receivedAt ?? null
    const known = wanted.get(key)
    if (!known || isLater(receivedAt, known.receivedAt)) wanted.set(key, { ...identity, receivedAt })
    return key
  })
  const profileIds = new Map<string, string>()
  const missing = () => [...wanted].flatMap(([key, identity]) => (profileIds.has(key) ? [] : [identity]))
  const ask = async (name: string, text: string, { values }: typeof createColumns): Promise<void> => {
    const identities = missing()
    if (identities.length === 0) return
    const { rows } = await db.query<KnownRow>({ name, text, values: values(identities) })
    for (const row of rows) profileIds.set(keyOf({ ...row, projectId: row.project_id }), row.profile_id)
  }

  await ask('find-identities', FIND, keys)
  await ask('create-identities', CREATE, createColumns)
  // Another transaction may have created them at the same time.
  await ask('find-identities', FIND, keys)
  return keysOfPeople.map((key) => (key === undefined ? null : (profileIds.get(key) ?? null)))
}

/** Null means now. */
const isLater = (a: string | null, b: string | null): boolean =>
  b !== null && (a === null || Date.parse(a) > Date.parse(b))

const identityIn = ({ projectId, visitorId, userId }: PersonRef): Identity | undefined => {
  if (typeof userId === 'string') return { projectId, kind: 'user', value: userId }
  if (typeof visitorId !== 'string' || isDailyVisitor(visitorId)) return undefined
  return { projectId, kind: 'visitor', value: visitorId }
}

const keyOf = ({ projectId, kind, value }: Identity): string => `${projectId}/${kind}/${value}`

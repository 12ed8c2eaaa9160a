import { bulkColumns } from '@waymark/database'
import { type Identity, type IdentityKind, type Link, profileIdOf } from '@waymark/domain'
import type { ClientBase } from 'pg'
import { joinErasure } from '../erasure/erased-records.ts'

/** An identity that this transaction has to itself, and the profile that it belongs to. */
export type LockedIdentity = Identity & { profileId: string; link: Link | null }

type Row = {
  project_id: string
  kind: IdentityKind
  value: string
  profile_id: string
  linked_at: Date | null
  linked_by: string | null
}

const columns = bulkColumns<Identity>([
  { name: 'project_id', type: 'uuid', of: ({ projectId }) => projectId },
  { name: 'kind', type: 'text', of: ({ kind }) => kind },
  { name: 'value', type: 'text', of: ({ value }) => value },
  { name: 'profile_id', type: 'uuid', of: profileIdOf },
])

// One statement in key order, as everywhere else, so that writers wait for each other instead of deadlocking. The
// update that changes nothing is there for its lock and for the row that it returns.
const LOCK = `
  INSERT INTO ingest.identities AS known (${columns.names})
  SELECT wanted.project_id, wanted.kind, wanted.value, coalesce(erasure.successor, wanted.profile_id)
  FROM ${columns.unnest} AS wanted (${columns.names}) ${joinErasure('wanted')} ORDER BY 1, 2, 3
  ON CONFLICT (project_id, kind, value) DO UPDATE SET profile_id = known.profile_id
  RETURNING project_id, kind, value, profile_id, linked_at, linked_by`

const POINT = `
  UPDATE ingest.identities SET profile_id = $4, linked_at = $5, linked_by = $6
  WHERE project_id = $1 AND kind = $2 AND value = $3`

/**
 * Locks identities until the end of the transaction. One that was not known is entered as belonging to the profile that
 * is its own to create, which is another one for somebody who was erased. Lock identities before profiles, and all of them at once.
 */
export const lockIdentities = async (
  client: ClientBase,
  identities: readonly Identity[],
): Promise<LockedIdentity[]> => {
  const { rows } = await client.query<Row>({
    name: 'lock-identities',
    text: LOCK,
    values: columns.values(identities),
  })
  return rows.map(toIdentity)
}

/** Has a locked identity belong to another profile from now on. */
export const pointIdentity = async (
  client: ClientBase,
  { projectId, kind, value, profileId, link }: LockedIdentity,
): Promise<void> => {
  await client.query({
    name: 'point-identity',
    text: POINT,
    values: [projectId, kind, value, profileId, link?.at ?? null, link?.by ?? null],
  })
}

const toIdentity = (row: Row): LockedIdentity => ({
  projectId: row.project_id,
  kind: row.kind,
  value: row.value,
  profileId: row.profile_id,
  link: row.linked_at && row.linked_by ? { at: row.linked_at.toISOString(), by: row.linked_by } : null,
})

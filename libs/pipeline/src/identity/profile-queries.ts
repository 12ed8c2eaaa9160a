import type { Touch } from '@waymark/contracts/http/profile-view'
import { changedProfiles } from '@waymark/contracts/topics'
import { bulkColumns } from '@waymark/database'
import { type Identity, noTouches, noTraits, type Touches, type TraitState } from '@waymark/domain/identity'
import type { LinkTouch } from '@waymark/domain/link'
import type { ClientBase, Pool } from 'pg'
import { addToOutbox } from '../outbox/index.ts'

/** A stored profile. A merged profile is empty and names the one that has its data. */
export type Profile = {
  id: string
  projectId: string
  /** The subject of decisions. It never changes. */
  bucketingId: string
  /** `null` for an anonymous visitor. */
  userId: string | null
  traits: TraitState
  touches: Touches
  mergedInto: string | null
}

type Row = {
  id: string
  project_id: string
  bucketing_id: string
  user_id: string | null
  traits: TraitState['traits']
  trait_times: TraitState['writes']
  first_touch: Touch | null
  last_touch: Touch | null
  link_touches: LinkTouch[]
  merged_into: string | null
}

const json = (value: unknown): string | null => (value === null ? null : JSON.stringify(value))

const columns = bulkColumns<Profile>([
  { name: 'id', type: 'uuid', of: ({ id }) => id },
  { name: 'project_id', type: 'uuid', of: ({ projectId }) => projectId },
  { name: 'bucketing_id', type: 'text', of: ({ bucketingId }) => bucketingId },
  { name: 'user_id', type: 'text', of: ({ userId }) => userId },
  { name: 'traits', type: 'jsonb', of: ({ traits }) => json(traits.traits) },
  { name: 'trait_times', type: 'jsonb', of: ({ traits }) => json(traits.writes) },
  { name: 'first_touch', type: 'jsonb', of: ({ touches }) => json(touches.first) },
  { name: 'last_touch', type: 'jsonb', of: ({ touches }) => json(touches.last) },
  { name: 'link_touches', type: 'jsonb', of: ({ touches }) => json(touches.links) },
  { name: 'merged_into', type: 'uuid', of: ({ mergedInto }) => mergedInto },
])

const LOCK = `SELECT ${columns.names} FROM ingest.profiles WHERE id = ANY($1::uuid[]) ORDER BY id FOR NO KEY UPDATE`
// A profile that an event has created has version 0, and is not published.
const SAVE = `
  INSERT INTO ingest.profiles AS profiles (${columns.names}, version)
  SELECT *, 1 FROM ${columns.unnest} AS given (${columns.names}) ORDER BY id
  ON CONFLICT (id) DO UPDATE SET
    user_id = excluded.user_id, traits = excluded.traits, trait_times = excluded.trait_times,
    first_touch = excluded.first_touch, last_touch = excluded.last_touch,
    link_touches = excluded.link_touches, merged_into = excluded.merged_into,
    updated_at = now(), version = greatest(1, profiles.version + CASE
      WHEN (excluded.traits, excluded.merged_into) IS DISTINCT FROM (profiles.traits, profiles.merged_into) THEN 1 ELSE 0
    END)
  RETURNING id, version::text`

/** An empty profile for an identity. */
export const newProfile = (identity: Identity & { profileId: string }): Profile => ({
  id: identity.profileId,
  projectId: identity.projectId,
  bucketingId: identity.value,
  userId: identity.kind === 'user' ? identity.value : null,
  traits: noTraits,
  touches: noTouches,
  mergedInto: null,
})

/** Reads and locks the profiles that exist, in the order of their ids, until the end of the transaction. */
export const lockProfiles = async (client: ClientBase, ids: readonly string[]): Promise<Profile[]> => {
  const { rows } = await client.query<Row>({ name: 'lock-profiles', text: LOCK, values: [ids] })
  return rows.map((row) => ({
    id: row.id,
    projectId: row.project_id,
    bucketingId: row.bucketing_id,
    userId: row.user_id,
    traits: { traits: row.traits, writes: row.trait_times },
    touches: { first: row.first_touch, last: row.last_touch, links: row.link_touches },
    mergedInto: row.merged_into,
  }))
}

/** Writes profiles that are locked or new. Returns their versions by id. */
export const saveProfiles = async (
  client: ClientBase,
  profiles: readonly Profile[],
): Promise<Map<string, number>> => {
  const { rows } = await client.query<{ id: string; version: string }>({
    name: 'save-profiles',
    text: SAVE,
    values: columns.values(profiles),
  })
  return new Map(rows.map(({ id, version }) => [id, Number(version)]))
}

/** The lane of changed profiles in the outbox. */
const LANE = 'changed-profiles'

/** Like `saveProfiles`, and publishes the traits and merges after the commit. */
export const saveChangedProfiles = async (
  client: ClientBase,
  profiles: readonly Profile[],
): Promise<void> => {
  const versions = await saveProfiles(client, profiles)
  const changedAt = new Date().toISOString()
  await addToOutbox(
    client,
    LANE,
    changedProfiles,
    profiles.map(({ id: profileId, projectId, mergedInto, traits: { traits } }) => {
      const version = versions.get(profileId) ?? 1
      return {
        key: `${projectId}:${profileId}`,
        value: { v: 1, projectId, profileId, mergedInto, traits, version, changedAt },
      }
    }),
  )
}

const FIND_EXISTING = 'SELECT id FROM ingest.profiles WHERE id = ANY($1::uuid[])'

/** The ids of the profiles that exist. */
export const findExistingProfiles = async (pool: Pool, ids: readonly string[]): Promise<Set<string>> => {
  const { rows } = await pool.query<{ id: string }>({
    name: 'find-existing-profiles',
    text: FIND_EXISTING,
    values: [ids],
  })
  return new Set(rows.map(({ id }) => id))
}

const FOLLOW = `SELECT id, coalesce(merged_into, id) AS living FROM ingest.profiles WHERE id = ANY($1::uuid[])`

/** The ids of the profiles after merges, by the given ids. */
export const followMerges = async (
  client: ClientBase,
  ids: readonly string[],
): Promise<Map<string, string>> => {
  const { rows } = await client.query<{ id: string; living: string }>({
    name: 'follow-merges',
    text: FOLLOW,
    values: [ids],
  })
  return new Map(rows.map(({ id, living }) => [id, living]))
}

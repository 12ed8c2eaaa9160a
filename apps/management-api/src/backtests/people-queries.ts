import type { TraitState } from '@waymark/domain/identity'
import type { Pool } from 'pg'

/** A person as they are known now. */
export type KnownPerson = {
  profileId: string
  bucketingId: string
  traits: TraitState['traits']
  /** When and by what each trait was written. */
  writes: TraitState['writes']
}

const READ = `
  SELECT id AS "profileId", bucketing_id AS "bucketingId", traits, trait_times AS writes FROM ingest.profiles
  WHERE project_id = $1 AND id = ANY ($2::uuid[]) AND merged_into IS NULL`

/** The people with these ids, by id; without erased and merged ones. */
export const readPeople = async (
  pool: Pool,
  projectId: string,
  profileIds: readonly string[],
): Promise<ReadonlyMap<string, KnownPerson>> => {
  const { rows } = await pool.query<KnownPerson>({
    name: 'read-people-of-backtest',
    text: READ,
    values: [projectId, profileIds],
  })
  return new Map(rows.map((person) => [person.profileId, person]))
}

/** The present person of a profile, their trait email, and when it was written (RFC 3339). */
export type Addressee = { asked: string; profileId: string; email: unknown; writtenAt: string | null }

const READ_ADDRESSES = `
  SELECT p.id AS asked, known.id AS "profileId", known.traits->'email' AS email, known.trait_times->'email'->>'at' AS "writtenAt"
  FROM ingest.profiles p JOIN ingest.profiles known ON known.id = coalesce(p.merged_into, p.id)
  WHERE p.project_id = $1 AND p.id = ANY ($2::uuid[])`

/** The people of profiles after merges, by the id of the profile. */
export const readAddressees = async (
  pool: Pool,
  projectId: string,
  profileIds: readonly string[],
): Promise<ReadonlyMap<string, Addressee>> => {
  const { rows } = await pool.query<Addressee>({
    name: 'read-addressees-of-backtest',
    text: READ_ADDRESSES,
    values: [projectId, profileIds],
  })
  return new Map(rows.map((one) => [one.asked, one]))
}

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

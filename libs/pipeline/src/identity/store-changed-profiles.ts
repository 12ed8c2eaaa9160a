import type { ChangedProfile } from '@waymark/contracts/records/change-records'
import type { Database } from '@waymark/database'
import type { EventWrites } from '@waymark/event-store'
import { findExistingProfiles } from './profile-queries.ts'

type Deps = {
  db: Pick<Database, 'pool'>
  eventStore: Pick<EventWrites, 'storeProfiles' | 'eraseProfiles'>
}

/** Stores traits and merges in the event store, except those of erased people. */
export const createProfileWriter =
  ({ db, eventStore }: Deps) =>
  async (changed: readonly ChangedProfile[]): Promise<void> => {
    const ids = [...new Set(changed.map(({ profileId }) => profileId))]
    const before = await findExistingProfiles(db.pool, ids)
    await eventStore.storeProfiles(newestOf(changed).filter(({ profileId }) => before.has(profileId)))
    // An erasure may have run in both stores meanwhile. A later one finds what was just written.
    const after = await findExistingProfiles(db.pool, ids)
    await eventStore.eraseProfiles(changed.filter(({ profileId }) => !after.has(profileId)))
  }

const newestOf = (changed: readonly ChangedProfile[]): ChangedProfile[] => {
  const newest = new Map<string, ChangedProfile>()
  for (const profile of changed) {
    const known = newest.get(profile.profileId)
    if (!known || profile.version > known.version) newest.set(profile.profileId, profile)
  }
  return [...newest.values()]
}

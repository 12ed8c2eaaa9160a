import type { Database } from '@waymark/database'
import { type Identity, mergeTraits, writtenTraits } from '@waymark/domain'
import { findErased } from '../erasure/erased-records.ts'
import { storeUnavailable } from '../store-unavailable.ts'
import { lockIdentities } from './identity-rows.ts'
import { lockProfiles, newProfile, saveProfiles } from './profile-rows.ts'
import { retryConflicts } from './retry-conflicts.ts'

/** Checked traits of one person, `null` to unset one, received at `receivedAt` (RFC 3339) with the record `id`. */
export type TraitsToWrite = {
  id: string
  person: Identity
  traits: Record<string, unknown>
  receivedAt: string
}

/** A profile after a write: all the traits that it has. */
export type WrittenProfile = { profileId: string; traits: Record<string, unknown> }

/**
 * Writes traits to the profile that a visitor or user belongs to, which is created when there is none.
 * @throws AppError store_unavailable when the person was erased since the traits were received
 */
export const writeTraits = (
  db: Pick<Database, 'transaction'>,
  { id, person, traits, receivedAt }: TraitsToWrite,
): Promise<WrittenProfile> =>
  retryConflicts(() =>
    db.transaction(async (client) => {
      const [identity] = await lockIdentities(client, [person])
      if (!identity) throw new Error('no identity was locked')
      const erased = await findErased(client, [{ ...person, receivedAt, people: [person] }])
      // Received a moment before: it has to be said again of the new person.
      if (erased.size > 0) throw storeUnavailable(new Error('the person has just been erased'))
      const [known = newProfile(identity)] = await lockProfiles(client, [identity.profileId])
      const write = { at: receivedAt, by: id, own: known.userId !== null }
      const profile = { ...known, traits: mergeTraits(known.traits, writtenTraits(traits, write)) }
      await saveProfiles(client, [profile])
      return { profileId: profile.id, traits: profile.traits.traits }
    }),
  )

import { AppError, MAX_PROFILE_TRAITS_BYTES, storeUnavailable } from '@waymark/contracts'
import { type Database, retryConflicts } from '@waymark/database'
import {
  exceedsProfile,
  type Identity,
  mergeTraits,
  protectedTraits,
  type TraitState,
  type TraitWrite,
  writtenTraits,
} from '@waymark/domain'
import { findErased } from '../erasure/index.ts'
import { lockIdentities } from './identity-queries.ts'
import { lockProfiles, newProfile, saveChangedProfiles } from './profile-queries.ts'

/**
 * Checked traits of one person; `null` unsets one. `receivedAt` is in RFC 3339. `verified`: whether a secret key or a user
 * hash authenticates the person.
 */
type TraitsToWrite = {
  id: string
  person: Identity
  traits: Record<string, unknown>
  receivedAt: string
  verified: boolean
}

/** A profile after a write: all its traits, and the keys that were not written. */
type WrittenProfile = { profileId: string; traits: Record<string, unknown>; droppedKeys: string[] }

/**
 * Writes traits to the profile of a visitor or user, and creates it if it does not exist.
 * @throws AppError store_unavailable when the person was erased after the traits were received; bad_request when the
 * traits of the profile would be too large
 */
export const writeTraits = (
  db: Pick<Database, 'transaction'>,
  { id, person, traits, receivedAt, verified }: TraitsToWrite,
): Promise<WrittenProfile> =>
  retryConflicts(() =>
    db.transaction(async (client) => {
      const [identity] = await lockIdentities(client, [person])
      if (!identity) throw new Error('No identity was locked')
      const erased = await findErased(client, [{ ...person, receivedAt, people: [person] }])
      // Received just before the erasure. A repeated request writes to the new profile.
      if (erased.size > 0) throw storeUnavailable(new Error('The person was erased during the request'))
      const [known = newProfile(identity)] = await lockProfiles(client, [identity.profileId])
      const write = { at: receivedAt, by: id, own: known.userId !== null, ...(!verified && UNVERIFIED) }
      const { kept, droppedKeys } = withoutProtected(known.traits, traits, write)
      const state = addTraits(known.traits, writtenTraits(kept, write))
      if (!state) throw traitsTooLarge()
      await saveChangedProfiles(client, [{ ...known, traits: state }])
      return { profileId: known.id, traits: state.traits, droppedKeys }
    }),
  )

/** Marks a write without proof of the user. */
export const UNVERIFIED = { verified: false } as const

/** Removes the traits that a write may not replace. */
export const withoutProtected = (
  known: TraitState,
  traits: Record<string, unknown>,
  write: TraitWrite,
): { kept: Record<string, unknown>; droppedKeys: string[] } => {
  const droppedKeys = protectedTraits(known, traits, write)
  if (droppedKeys.length === 0) return { kept: traits, droppedKeys }
  const kept = Object.entries(traits).filter(([name]) => !droppedKeys.includes(name))
  return { kept: Object.fromEntries(kept), droppedKeys }
}

/** A profile's traits after a write, or undefined when they would be too large. */
export const addTraits = (known: TraitState, written: TraitState): TraitState | undefined => {
  const state = mergeTraits(known, written)
  return exceedsProfile(state, known) ? undefined : state
}

/** Without the current size, because public keys must not read the traits of others. */
export const traitsTooLarge = (): AppError =>
  new AppError(
    'bad_request',
    `traits do not fit into the profile, which keeps at most ${MAX_PROFILE_TRAITS_BYTES} bytes of traits as JSON. ` +
      'Send smaller ones, or unset traits that are no longer needed with null',
  )

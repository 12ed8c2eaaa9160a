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
 * Checked traits of one person, `null` to unset one, received at `receivedAt` (RFC 3339) with the record `id`. `verified`:
 * a secret key or a user hash vouches for them.
 */
export type TraitsToWrite = {
  id: string
  person: Identity
  traits: Record<string, unknown>
  receivedAt: string
  verified: boolean
}

/** A profile after a write: all the traits that it has, and those of the write that it refused. */
export type WrittenProfile = { profileId: string; traits: Record<string, unknown>; droppedKeys: string[] }

/**
 * Writes traits to the profile that a visitor or user belongs to, which is created when there is none.
 * @throws AppError store_unavailable when the person was erased since the traits were received; bad_request when the
 * profile's traits would be too large together
 */
export const writeTraits = (
  db: Pick<Database, 'transaction'>,
  { id, person, traits, receivedAt, verified }: TraitsToWrite,
): Promise<WrittenProfile> =>
  retryConflicts(() =>
    db.transaction(async (client) => {
      const [identity] = await lockIdentities(client, [person])
      if (!identity) throw new Error('no identity was locked')
      const erased = await findErased(client, [{ ...person, receivedAt, people: [person] }])
      // Received a moment before: it has to be said again of the new person.
      if (erased.size > 0) throw storeUnavailable(new Error('the person has just been erased'))
      const [known = newProfile(identity)] = await lockProfiles(client, [identity.profileId])
      const write = { at: receivedAt, by: id, own: known.userId !== null, ...(!verified && UNVERIFIED) }
      const { kept, droppedKeys } = withoutProtected(known.traits, traits, write)
      const state = addTraits(known.traits, writtenTraits(kept, write))
      if (!state) throw traitsTooLarge()
      await saveChangedProfiles(client, [{ ...known, traits: state }])
      return { profileId: known.id, traits: state.traits, droppedKeys }
    }),
  )

/** What the write of a public key has that did not prove its user. */
export const UNVERIFIED = { verified: false } as const

/** Takes those traits out of a write that it may not replace. */
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

/** Names no size: a public key must not learn how much is stored of somebody. */
export const traitsTooLarge = (): AppError =>
  new AppError(
    'bad_request',
    `traits do not fit into the profile, which keeps at most ${MAX_PROFILE_TRAITS_BYTES} bytes of traits as JSON. ` +
      'Send smaller ones, or unset traits that are no longer needed with null',
  )

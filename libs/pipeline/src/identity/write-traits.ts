import { storeUnavailable } from '@waymark/contracts/app-error'
import type { Database } from '@waymark/database'
import type { Identity } from '@waymark/domain/identity'
import { type AppliedChange, changePeople, type PersonChange, traitsTooLarge } from './change-people.ts'

/** Checked traits of one person. */
type TraitsToWrite = Pick<PersonChange, 'id' | 'traits' | 'receivedAt' | 'verified'> & { person: Identity }

/** A profile after a write: all its traits, and the keys that were not written. */
type WrittenProfile = Pick<AppliedChange, 'profileId' | 'traits' | 'droppedKeys'>

/**
 * Writes traits to the profile of a visitor or user, and creates it if it does not exist.
 * @throws AppError store_unavailable when the person was erased after the traits were received; bad_request when the
 * traits of the profile would be too large
 */
export const writeTraits = async (
  db: Pick<Database, 'transaction'>,
  { person: { projectId, kind, value }, ...write }: TraitsToWrite,
): Promise<WrittenProfile> => {
  const ids = { visitorId: kind === 'visitor' ? value : null, userId: kind === 'user' ? value : null }
  const [outcome] = await changePeople(db, [{ ...write, projectId, ...ids, mustFit: true }])
  if (outcome?.is === 'too_large') throw traitsTooLarge()
  if (outcome?.is !== 'applied') throw justErased()
  const { profileId, traits, droppedKeys } = outcome
  return { profileId, traits, droppedKeys }
}

/** Received just before the erasure. A repeated request writes to the new profile. */
export const justErased = () => storeUnavailable(new Error('The person was just erased'))

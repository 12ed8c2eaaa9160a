import type { IdentifyRecord } from '@waymark/contracts/records/ingest-record'
import type { Database } from '@waymark/database'
import { type AppliedChange, changePeople, traitsTooLarge } from './change-people.ts'

/** The user's profile, and the traits of the record that were not written; see `ChangeOutcome`. */
type AppliedIdentify = Pick<AppliedChange, 'profileId' | 'droppedKeys' | 'leftOutKeys'>

/**
 * Links a visitor to a user and writes traits; see `changePeople`. If the traits of the record do not fit, all of them
 * are left out, unless `mustFit` is set.
 * @returns `null` when the visitor or user was erased after the record was received; then nothing is written
 * @throws AppError bad_request with `mustFit` when the traits do not fit; then nothing is written
 */
export const applyIdentify = async (
  db: Pick<Database, 'transaction'>,
  { verified = false, ...record }: IdentifyRecord,
  { mustFit = false } = {},
): Promise<AppliedIdentify | null> => {
  const [outcome] = await changePeople(db, [{ ...record, verified, mustFit }])
  if (outcome?.is === 'too_large') throw traitsTooLarge()
  if (outcome?.is !== 'applied') return null
  const { profileId, droppedKeys, leftOutKeys } = outcome
  return { profileId, droppedKeys, leftOutKeys }
}

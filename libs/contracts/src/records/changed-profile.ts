import { type Static, Type } from 'typebox'
import { Id, NullableString, Timestamp } from '../schema-parts.ts'

/** `profiles.changed.v1`: the traits of a profile, or the profile that it was merged into, have changed. */
export const ChangedProfile = Type.Object({
  v: Type.Literal(1),
  projectId: Id,
  profileId: Id,
  /** The profile that has everything of this one. */
  mergedInto: NullableString,
  /** All that it has now. */
  traits: Type.Record(Type.String(), Type.Unknown()),
  /** Grows with every change of the profile. */
  version: Type.Integer({ minimum: 1 }),
  changedAt: Timestamp,
})
export type ChangedProfile = Static<typeof ChangedProfile>

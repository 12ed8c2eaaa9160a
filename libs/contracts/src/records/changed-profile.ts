import { type Static, Type } from 'typebox'
import { Id, NullableString, Timestamp } from '../schema-parts.ts'

/** `profiles.changed.v1`: the traits of a profile changed, or it was merged. */
export const ChangedProfile = Type.Object({
  v: Type.Literal(1),
  projectId: Id,
  profileId: Id,
  /** The profile that this one was merged into. */
  mergedInto: NullableString,
  /** All current traits. */
  traits: Type.Record(Type.String(), Type.Unknown()),
  /** Increases with every change of the profile. */
  version: Type.Integer({ minimum: 1 }),
  changedAt: Timestamp,
})
export type ChangedProfile = Static<typeof ChangedProfile>

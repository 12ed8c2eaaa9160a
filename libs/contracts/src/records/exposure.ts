import { type Static, Type } from 'typebox'
import { Id, NullableString, Timestamp } from '../schema-parts.ts'

/** `decisions.exposed.v1`: a person got a variant, for the first time on that day as far as the process knew. */
export const Exposure = Type.Object({
  v: Type.Literal(1),
  projectId: Id,
  decisionId: Id,
  decisionKey: Type.String(),
  /** The version of the decision. */
  version: Type.Integer(),
  variant: Type.String(),
  reason: Type.String(),
  ruleId: NullableString,
  /** The subject that was hashed. */
  subject: Type.String(),
  /** The id that determined the subject; the other one is null. */
  visitorId: NullableString,
  userId: NullableString,
  /** The profile. Null when it was unknown; then the profile of the id is used when the exposure is stored. */
  profileId: NullableString,
  exposedAt: Timestamp,
})
export type Exposure = Static<typeof Exposure>

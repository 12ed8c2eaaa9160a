import { type Static, Type } from 'typebox'
import { Id, NullableString, Timestamp } from '../schema-parts.ts'

/** `decisions.exposed.v1`: a person was given a variant; the first time on that day, as far as the process knew. */
export const Exposure = Type.Object({
  v: Type.Literal(1),
  projectId: Id,
  decisionId: Id,
  decisionKey: Type.String(),
  /** Of the decision. */
  version: Type.Integer(),
  variant: Type.String(),
  reason: Type.String(),
  ruleId: NullableString,
  /** What was hashed. */
  subject: Type.String(),
  /** Whom it was decided for, by the one id that counted. */
  visitorId: NullableString,
  userId: NullableString,
  /** Their profile; null when none was known, and it is the one that the id belongs to when this is stored. */
  profileId: NullableString,
  exposedAt: Timestamp,
})
export type Exposure = Static<typeof Exposure>

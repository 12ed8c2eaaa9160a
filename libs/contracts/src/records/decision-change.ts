import { type Static, Type } from 'typebox'
import { Id, Timestamp } from '../schema-parts.ts'

/** `decisions.changed.v1`: a decision was created or changed. Records of one decision keep their order. */
export const DecisionChange = Type.Object({
  v: Type.Literal(1),
  projectId: Id,
  decisionId: Id,
  decisionKey: Type.String(),
  /** The new version. The management API answers its definition. */
  version: Type.Integer(),
  /** What was done, such as `created`, `updated`, `activated` or `rolled_back`. */
  change: Type.String(),
  /** The status since then. */
  status: Type.String(),
  changedBy: Type.Object({ kind: Type.String(), id: Type.String() }),
  at: Timestamp,
})
export type DecisionChange = Static<typeof DecisionChange>

import { type Static, Type } from 'typebox'
import { Id, NullableString, Timestamp } from '../schema-parts.ts'

/** `audit.recorded.v1`: an entry of a project's audit log. */
export const AuditRecord = Type.Object({
  v: Type.Literal(1),
  id: Id,
  projectId: Id,
  actor: Type.Object({ kind: Type.String(), id: Type.String() }),
  /** The id of an operation. */
  operation: Type.String(),
  resourceId: NullableString,
  /** The names of the fields in the request. */
  fields: Type.Array(Type.String()),
  network: NullableString,
  requestId: NullableString,
  at: Timestamp,
})
export type AuditRecord = Static<typeof AuditRecord>

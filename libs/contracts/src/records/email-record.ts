import { type Static, Type } from 'typebox'
import { Id, NullableString, Timestamp } from '../schema-parts.ts'

/** `emails.sent.v1`: the mail server accepted an email, or it bounced. It has no address, so that an erasure is simple. */
export const EmailRecord = Type.Object({
  v: Type.Literal(1),
  kind: Type.Unsafe<'sent' | 'bounced'>({ type: 'string', enum: ['sent', 'bounced'] }),
  /** Of this record: a delivery that is repeated by hand is sent twice. */
  id: Id,
  projectId: Id,
  deliveryId: Id,
  triggerId: Id,
  profileId: NullableString,
  at: Timestamp,
})
export type EmailRecord = Static<typeof EmailRecord>

import { type Static, Type } from 'typebox'
import { Id, NullableString, Timestamp } from '../schema-parts.ts'

/** `links.clicked.v1`: a click on a short link. Subscribers deduplicate by `id`. */
export const LinkClick = Type.Object({
  v: Type.Literal(1),
  /** A UUIDv7, which the destination receives as `wm_click`. */
  id: Id,
  projectId: Id,
  linkId: Id,
  code: Type.String(),
  clickedAt: Timestamp,
  /** The address as the project stores it. Default: its network. */
  ip: NullableString,
  userAgent: NullableString,
  country: NullableString,
  referrer: NullableString,
  bot: Type.Boolean(),
  /** Whether a browser prefetched the link. */
  prefetch: Type.Boolean(),
  /** A hash of the visitor that is valid for one day. It cannot be traced back after the salt of the day is deleted. */
  visitor: NullableString,
})
export type LinkClick = Static<typeof LinkClick>

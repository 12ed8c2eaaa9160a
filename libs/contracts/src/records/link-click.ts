import { type Static, Type } from 'typebox'
import { Id, NullableString, Timestamp } from '../schema-parts.ts'

/** `links.clicked.v1`: a short link was followed. Subscribers drop repeats by `id`. */
export const LinkClick = Type.Object({
  v: Type.Literal(1),
  /** UUIDv7; the destination gets it as `wm_click`. */
  id: Id,
  projectId: Id,
  linkId: Id,
  code: Type.String(),
  clickedAt: Timestamp,
  /** As much of the address as the project stores: its network, unless set otherwise. */
  ip: NullableString,
  userAgent: NullableString,
  country: NullableString,
  referrer: NullableString,
  bot: Type.Boolean(),
  /** Whether a browser fetched it before anybody asked for it. */
  prefetch: Type.Boolean(),
  /** Who it was, among the visitors of one day: a hash that nobody can trace back once the day's salt is gone. */
  visitor: NullableString,
})
export type LinkClick = Static<typeof LinkClick>

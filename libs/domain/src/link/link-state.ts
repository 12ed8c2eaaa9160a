import type { LinkStatus } from '@waymark/contracts/http/links'

/** The properties that determine whether a link is active. Times in ms since the epoch. */
type LinkTerms = { status: LinkStatus; startsAt: number | null; expiresAt: number | null }

/** Why a link is no longer active. */
export type LinkEnd = 'paused' | 'archived' | 'expired' | 'click_limit_reached'

/** Whether a link is active at a time, not active yet, or no longer. */
export const linkStateAt = (
  { status, startsAt, expiresAt }: LinkTerms,
  atMs: number,
): 'open' | 'not_started' | Exclude<LinkEnd, 'click_limit_reached'> => {
  if (status !== 'active') return status
  if (expiresAt !== null && expiresAt <= atMs) return 'expired'
  return startsAt !== null && startsAt > atMs ? 'not_started' : 'open'
}

import type { LinkStatus } from '@waymark/contracts'

/** What decides whether a link leads anywhere. Times in ms since the epoch. */
export type LinkTerms = { status: LinkStatus; startsAt: number | null; expiresAt: number | null }

/** Why a link leads nowhere any more. */
export type LinkEnd = 'paused' | 'archived' | 'expired' | 'click_limit_reached'

/** Whether a link leads to its destination at a time, not yet, or no more. */
export const linkStateAt = (
  { status, startsAt, expiresAt }: LinkTerms,
  atMs: number,
): 'open' | 'not_started' | Exclude<LinkEnd, 'click_limit_reached'> => {
  if (status !== 'active') return status
  if (expiresAt !== null && expiresAt <= atMs) return 'expired'
  return startsAt !== null && startsAt > atMs ? 'not_started' : 'open'
}

import type { EnrichedEvent } from '@waymark/contracts/records/enriched-event'
import { clickTimeOf } from './click-id.ts'

/** A visit through a short link. `at` (RFC 3339) is the time of the click if known. */
export type LinkTouch = {
  at: string
  linkId: string
  code: string
  campaign: string | null
  clickId: string | null
  eventId: string
  /** The key of the variant, if the link had any. */
  variant?: string
}

/** Maximum stored touches of a person. The latest are kept. */
export const MAX_LINK_TOUCHES = 20
/** Default attribution window of a project, in days. */
export const DEFAULT_ATTRIBUTION_DAYS = 30

const DAY_MS = 24 * 60 * 60 * 1000

/** The link touch of an event, if a known link led to it. Events of bots have none. */
export const linkTouchesOf = ({ context, timestamp, eventId }: EnrichedEvent): LinkTouch[] => {
  const { shortLink, bot } = context
  if (!shortLink || bot) return []
  const { id, code, campaign, clickId, variant } = shortLink
  // Reloading a page with the same click id is the same touch.
  const clickedAt = clickId === null ? Number.NaN : clickTimeOf(clickId)
  const at = clickedAt <= Date.parse(timestamp) ? new Date(clickedAt).toISOString() : timestamp
  return [{ at, linkId: id, code, campaign, clickId, eventId, ...(variant !== undefined && { variant }) }]
}

/**
 * The latest `max` touches of both, the earliest first, each click once. Commutative, associative and idempotent, so that
 * the order of arrival does not matter. Returns `a` itself when `b` adds nothing.
 */
export const mergeLinkTouches = (
  a: readonly LinkTouch[],
  b: readonly LinkTouch[],
  max = MAX_LINK_TOUCHES,
): readonly LinkTouch[] => {
  if (b.length === 0) return a
  if (a.length === 0 && b.length === 1) return b
  const byKey = new Map<string, LinkTouch>()
  for (const touch of [...a, ...b]) {
    const known = byKey.get(keyOf(touch))
    if (!known || compare(touch, known) < 0) byKey.set(keyOf(touch), touch)
  }
  const merged = [...byKey.values()].sort(compare).slice(-max)
  const isNews = merged.length !== a.length || merged.some((touch, index) => touch !== a[index])
  return isNews ? merged : a
}

/** The first and last touch within `windowDays` before a conversion at `at`. */
export const attributeTo = (
  touches: readonly LinkTouch[],
  at: string,
  windowDays: number = DEFAULT_ATTRIBUTION_DAYS,
): { first: LinkTouch | null; last: LinkTouch | null } => {
  const until = Date.parse(at)
  const since = until - windowDays * DAY_MS
  const within = touches.filter((touch) => Date.parse(touch.at) >= since && Date.parse(touch.at) <= until)
  return { first: within[0] ?? null, last: within.at(-1) ?? null }
}

const keyOf = ({ clickId, eventId }: LinkTouch): string => clickId ?? `event ${eventId}`

const compare = (a: LinkTouch, b: LinkTouch): number =>
  Date.parse(a.at) - Date.parse(b.at) || (a.eventId < b.eventId ? -1 : a.eventId > b.eventId ? 1 : 0)

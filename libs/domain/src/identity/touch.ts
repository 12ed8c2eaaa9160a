import type { Touch } from '@waymark/contracts/http/profile-view'
import type { EnrichedEvent } from '@waymark/contracts/records/enriched-event'
import { urlHostOf } from '../enrichment/page.ts'
import { type LinkTouch, linkTouchesOf, mergeLinkTouches } from '../link/link-touch.ts'

/** The first and last touch of a person, or `null`, and the latest touches by short links. */
export type Touches = { first: Touch | null; last: Touch | null; links: readonly LinkTouch[] }

export const noTouches: Touches = { first: null, last: null, links: [] }

/**
 * The touch in an event, if there is one: a campaign, the click id of an ad, a short link, or a referrer of another host.
 * Events of bots have none.
 */
export const touchesOf = (event: EnrichedEvent): Touches => {
  const { context, timestamp, eventId, shortLinkId, shortLinkCode } = event
  const { utm, clickIds, referrer, referrerHost } = context
  const referred = referrerHost !== null && referrerHost !== urlHostOf(context.url)
  const hasSource =
    referred ||
    shortLinkId !== null ||
    shortLinkCode !== null ||
    Object.keys(clickIds).length > 0 ||
    Object.values(utm).some((value) => value !== null)
  if (context.bot || !hasSource) return noTouches
  const touch: Touch = {
    at: timestamp,
    eventId,
    utm,
    clickIds,
    referrer: referred ? referrer : null,
    shortLinkId,
    shortLinkCode,
  }
  return { first: touch, last: touch, links: linkTouchesOf(event) }
}

/** Merges touches: the earliest and the latest, independent of the order of merges. */
export const mergeTouches = (a: Touches, b: Touches): Touches => ({
  first: pick(a.first, b.first, (order) => order <= 0),
  last: pick(a.last, b.last, (order) => order >= 0),
  links: mergeLinkTouches(a.links, b.links),
})

const pick = (a: Touch | null, b: Touch | null, takesFirst: (order: number) => boolean): Touch | null => {
  if (a === null || b === null) return a ?? b
  return takesFirst(compareTouches(a, b)) ? a : b
}

// For the same time, the event id decides, so that the order of arrival does not matter.
const compareTouches = (a: Touch, b: Touch): number =>
  Date.parse(a.at) - Date.parse(b.at) || (a.eventId < b.eventId ? -1 : a.eventId > b.eventId ? 1 : 0)

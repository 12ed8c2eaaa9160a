import type { EnrichedEvent } from '@waymark/contracts/records/enriched-event'
import { mergeTouches, type Touches, touchesOf } from '@waymark/domain/identity'
import { mergeLinkTouches } from '@waymark/domain/link'
import type { ClientBase } from 'pg'
import type { LinkNews, TouchedPeople } from '../links/index.ts'
import { followMerges, lockProfiles, type Profile, saveProfiles } from './profile-queries.ts'

/**
 * Stores the first and last touch of profiles, and locks the profiles of people who touch or convert. Call it only with
 * new events, in the transaction that stored them.
 */
export const storeTouches = async (
  client: ClientBase,
  events: readonly EnrichedEvent[],
): Promise<TouchedPeople> => {
  const touched = touchesByProfile(events)
  const living = new Map<string, Profile>()
  const livingOf = new Map<string, string>()
  const news = new Map<string, LinkNews>()

  /** Writes touches. Returns those whose profile is merged, with the profile that they belong to. */
  const touch = async (named: ReadonlyMap<string, string>): Promise<Map<string, string>> => {
    const left = new Map<string, string>()
    const changed = new Set<string>()
    const locked = await lockProfiles(client, [...new Set(named.values())])
    for (const profile of locked) living.set(profile.id, profile)
    for (const [id, profileId] of named) {
      const profile = living.get(profileId)
      const touches = touched.get(id)
      if (!profile || !touches) continue
      if (profile.mergedInto !== null) {
        left.set(id, profile.mergedInto)
        continue
      }
      livingOf.set(id, profileId)
      const merged = mergeTouches(profile.touches, touches)
      const { first, last, links } = profile.touches
      if (merged.first === first && merged.last === last && merged.links === links) continue
      living.set(profileId, { ...profile, touches: merged })
      changed.add(profileId)
      if (merged.links === links) continue
      const learned = mergeLinkTouches(news.get(profileId)?.touches ?? [], touches.links)
      news.set(profileId, { projectId: profile.projectId, profileId, touches: learned })
    }
    if (changed.size > 0)
      await saveProfiles(
        client,
        [...changed].flatMap((id) => living.get(id) ?? []),
      )
    return left
  }

  if (touched.size > 0) {
    const left = await touch(await followMerges(client, [...touched.keys()]))
    // Merged between the two statements. Once is enough, because the target of a merge is never merged itself.
    if (left.size > 0) await touch(left)
  }
  return {
    linkTouchesOf: (profileId) => living.get(livingOf.get(profileId) ?? '')?.touches.links,
    news: [...news.values()],
  }
}

/** The touches in a batch by the profile id of the events, including people who only convert. */
const touchesByProfile = (events: readonly EnrichedEvent[]): Map<string, Touches> => {
  const touched = new Map<string, Touches>()
  for (const event of events) {
    const touches = touchesOf(event)
    if (event.profileId === null || (touches.first === null && event.conversions.length === 0)) continue
    const known = touched.get(event.profileId)
    touched.set(event.profileId, known ? mergeTouches(known, touches) : touches)
  }
  return touched
}

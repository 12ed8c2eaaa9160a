import type { EnrichedEvent } from '@waymark/contracts'
import { mergeLinkTouches, mergeTouches, type Touches, touchesOf } from '@waymark/domain'
import type { ClientBase } from 'pg'
import type { LinkNews, TouchedPeople } from '../links/index.ts'
import { followMerges, lockProfiles, type Profile, saveProfiles } from './profile-queries.ts'

/**
 * Has the profiles of events know their first and last touch, and keeps what is known of people who convert from
 * changing. Give it only events that were new, in the transaction that stored them; profiles are locked after everything
 * that others lock before theirs.
 */
export const storeTouches = async (
  client: ClientBase,
  events: readonly EnrichedEvent[],
): Promise<TouchedPeople> => {
  const touched = touchesByProfile(events)
  const living = new Map<string, Profile>()
  const livingOf = new Map<string, string>()
  const news = new Map<string, LinkNews>()

  /** Writes touches, and answers whose profile turned out to be merged, by the profile to write to. */
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
    // Merged between the two statements; a profile that others are merged into never is itself.
    if (left.size > 0) await touch(left)
  }
  return {
    linkTouchesOf: (profileId) => living.get(livingOf.get(profileId) ?? '')?.touches.links,
    news: [...news.values()],
  }
}

/** What a batch tells of people, those who only convert included, by the profile id that their events name. */
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

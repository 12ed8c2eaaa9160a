import type { EnrichedEvent } from '@waymark/contracts'
import { mergeTouches, type Touches, touchesOf } from '@waymark/domain'
import type { ClientBase } from 'pg'
import { lockProfiles, saveProfiles } from './profile-rows.ts'

const FOLLOW = `SELECT id, coalesce(merged_into, id) AS living FROM ingest.profiles WHERE id = ANY($1::uuid[])`

/**
 * Has the profiles of events know their first and last touch. Give it only events that were new, in the transaction
 * that stored them, and after everything else in it: profiles are locked last, as everywhere.
 */
export const storeTouches = async (client: ClientBase, events: readonly EnrichedEvent[]): Promise<void> => {
  const touched = new Map<string, Touches>()
  for (const event of events) {
    const touches = touchesOf(event)
    if (event.profileId === null || touches.first === null) continue
    const known = touched.get(event.profileId)
    touched.set(event.profileId, known ? mergeTouches(known, touches) : touches)
  }
  if (touched.size === 0) return
  const left = await touch(client, await followMerges(client, touched))
  // Merged between the two statements; a profile that others are merged into never is itself.
  if (left.size > 0) await touch(client, left)
}

/** Moves touches of profiles that were merged to those that they were merged into. */
const followMerges = async (
  client: ClientBase,
  touched: ReadonlyMap<string, Touches>,
): Promise<Map<string, Touches>> => {
  const { rows } = await client.query<{ id: string; living: string }>({
    name: 'follow-merges',
    text: FOLLOW,
    values: [[...touched.keys()]],
  })
  const moved = new Map<string, Touches>()
  for (const { id, living } of rows) {
    const touches = touched.get(id)
    const known = moved.get(living)
    if (touches) moved.set(living, known ? mergeTouches(known, touches) : touches)
  }
  return moved
}

/** Writes touches, and answers those of profiles that turned out to be merged, by the profile to write them to. */
const touch = async (
  client: ClientBase,
  touched: ReadonlyMap<string, Touches>,
): Promise<Map<string, Touches>> => {
  const left = new Map<string, Touches>()
  const profiles = await lockProfiles(client, [...touched.keys()])
  const changed = profiles.flatMap((profile) => {
    const touches = touched.get(profile.id)
    if (!touches) return []
    if (profile.mergedInto !== null) {
      const known = left.get(profile.mergedInto)
      left.set(profile.mergedInto, known ? mergeTouches(known, touches) : touches)
      return []
    }
    const merged = mergeTouches(profile.touches, touches)
    const { first, last, links } = profile.touches
    const isNews = merged.first !== first || merged.last !== last || merged.links !== links
    return isNews ? [{ ...profile, touches: merged }] : []
  })
  if (changed.length > 0) await saveProfiles(client, changed)
  return left
}

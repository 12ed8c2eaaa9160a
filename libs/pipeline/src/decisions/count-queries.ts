import type { EnrichedEvent } from '@waymark/contracts/records/enriched-event'
import { bulkColumns } from '@waymark/database'
import { MAX_COUNT_DAYS } from '@waymark/domain/decision'
import type { ClientBase, Pool } from 'pg'

/** The names of the events of a project that are counted per person. */
export type CountedEvents = (projectId: string) => ReadonlySet<string>

const DAY_MS = 24 * 60 * 60 * 1000

/** How often a person had an event on one day. */
type Count = { profileId: string; event: string; day: string; n: number }

const columns = bulkColumns<Count>([
  { name: 'profile_id', type: 'uuid', of: ({ profileId }) => profileId },
  { name: 'event', type: 'text', of: ({ event }) => event },
  { name: 'day', type: 'date', of: ({ day }) => day },
  { name: 'n', type: 'int', of: ({ n }) => n },
])

// In key order, so that writers do not deadlock.
const ADD = `
  INSERT INTO decision.profile_event_counts AS known (${columns.names})
  SELECT * FROM ${columns.unnest} AS given (${columns.names}) ORDER BY profile_id, event, day
  ON CONFLICT (profile_id, event, day) DO UPDATE SET n = known.n + excluded.n`

/**
 * Counts events per person and day that decisions use. Call it only with new events, in the transaction that stored them,
 * so that each event counts once.
 */
export const storeCounts = async (
  client: ClientBase,
  events: readonly EnrichedEvent[],
  countedEvents: CountedEvents,
): Promise<void> => {
  const oldest = dayOf(Date.now() - MAX_COUNT_DAYS * DAY_MS)
  const counts = new Map<string, Count>()
  for (const { projectId, profileId, eventName, timestamp } of events) {
    const day = dayOf(Date.parse(timestamp))
    if (profileId === null || day < oldest || !countedEvents(projectId).has(eventName)) continue
    const key = `${profileId}/${day}/${eventName}`
    const known = counts.get(key)
    if (known) known.n += 1
    else counts.set(key, { profileId, event: eventName, day, n: 1 })
  }
  if (counts.size === 0) return
  await client.query({ name: 'store-counts', text: ADD, values: columns.values([...counts.values()]) })
}

const FORGET = `
  DELETE FROM decision.profile_event_counts WHERE ctid = ANY(ARRAY(
    SELECT ctid FROM decision.profile_event_counts WHERE day < $1 LIMIT 5000))`

/** Deletes up to 5,000 counts that are too old for decisions. Returns their number. */
export const forgetOldCounts = async (pool: Pool, now: number): Promise<number> => {
  const { rowCount } = await pool.query(FORGET, [dayOf(now - MAX_COUNT_DAYS * DAY_MS)])
  return rowCount ?? 0
}

const dayOf = (ms: number): string => new Date(ms).toISOString().slice(0, 10)

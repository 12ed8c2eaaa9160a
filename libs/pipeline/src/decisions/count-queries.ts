import type { EnrichedEvent } from '@waymark/contracts/records/enriched-event'
import { bulkColumns } from '@waymark/database'
import { MAX_COUNT_DAYS } from '@waymark/domain/decision'
import type { ClientBase, Pool } from 'pg'

/** The names of the events of a project that are counted per person. */
export type CountedEvents = (projectId: string) => ReadonlySet<string>

const DAY_MS = 24 * 60 * 60 * 1000

const columns = bulkColumns<EnrichedEvent>([
  { name: 'project_id', type: 'uuid', of: (event) => event.projectId },
  { name: 'profile_id', type: 'uuid', of: (event) => event.profileId },
  { name: 'event', type: 'text', of: (event) => event.eventName },
  { name: 'day', type: 'date', of: (event) => dayOf(Date.parse(event.timestamp)) },
  { name: 'received_at', type: 'timestamptz', of: (event) => event.receivedAt },
])

// In key order, so that writers do not deadlock. What was counted since an earlier time of a segment is counted anew.
const IS_SAME = '(excluded.counts_from IS NULL OR known.counts_from = excluded.counts_from)'
const ADD = `
  INSERT INTO decision.profile_event_counts AS known (profile_id, event, day, n, counts_from)
  SELECT given.profile_id, given.event, given.day, count(*), counted.counts_from
  FROM ${columns.unnest} AS given (${columns.names})
  LEFT JOIN decision.counted_events counted USING (project_id, event)
  WHERE counted.counts_from IS NULL OR given.received_at >= counted.counts_from
  GROUP BY given.profile_id, given.event, given.day, counted.counts_from ORDER BY 1, 2, 3
  ON CONFLICT (profile_id, event, day) DO UPDATE SET
    n = excluded.n + CASE WHEN ${IS_SAME} THEN known.n ELSE 0 END,
    earlier = CASE WHEN ${IS_SAME} THEN known.earlier ELSE 0 END,
    counts_from = coalesce(excluded.counts_from, known.counts_from)`

/**
 * Counts events per person and day that decisions use. Call it only with new events, in the transaction that claimed them,
 * so that each event counts once. Those that were received before segments count them are left to `createCompleteCounts`.
 */
export const storeCounts = async (
  client: ClientBase,
  events: readonly EnrichedEvent[],
  countedEvents: CountedEvents,
): Promise<void> => {
  const oldest = dayOf(Date.now() - MAX_COUNT_DAYS * DAY_MS)
  const counted = events.filter(
    ({ projectId, profileId, eventName, timestamp }) =>
      profileId !== null && countedEvents(projectId).has(eventName) && dayOf(Date.parse(timestamp)) >= oldest,
  )
  if (counted.length === 0) return
  await client.query({ name: 'store-counts', text: ADD, values: columns.values(counted) })
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

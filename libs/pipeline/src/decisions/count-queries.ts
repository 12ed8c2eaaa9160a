import type { EnrichedEvent } from '@waymark/contracts'
import { bulkColumns } from '@waymark/database'
import { MAX_COUNT_DAYS } from '@waymark/domain'
import type { ProjectConfigs } from '@waymark/project-config'
import type { ClientBase, Pool } from 'pg'

/** Which events of a project are counted per person. */
export type CountedEvents = (projectId: string) => ReadonlySet<string>

const DAY_MS = 24 * 60 * 60 * 1000

/** One person's event on one day, and how often. */
type Count = { profileId: string; event: string; day: string; n: number }

const columns = bulkColumns<Count>([
  { name: 'profile_id', type: 'uuid', of: ({ profileId }) => profileId },
  { name: 'event', type: 'text', of: ({ event }) => event },
  { name: 'day', type: 'date', of: ({ day }) => day },
  { name: 'n', type: 'int', of: ({ n }) => n },
])

// In key order, as everywhere else, so that writers wait for each other instead of deadlocking.
const ADD = `
  INSERT INTO decision.profile_event_counts AS known (${columns.names})
  SELECT * FROM ${columns.unnest} AS given (${columns.names}) ORDER BY profile_id, event, day
  ON CONFLICT (profile_id, event, day) DO UPDATE SET n = known.n + excluded.n`

/**
 * Asks the configuration which events are counted in the projects of a batch; before the batch's transaction, so that it
 * needs no second connection.
 * @throws AppError store_unavailable when nobody can tell
 */
export const countedEventsIn = async (
  projectConfigs: ProjectConfigs,
  events: readonly EnrichedEvent[],
): Promise<CountedEvents> => {
  const projects = new Set(events.map(({ projectId }) => projectId))
  const counted = new Map<string, ReadonlySet<string>>()
  for (const projectId of projects)
    counted.set(projectId, (await projectConfigs.get(projectId)).decisions.countedEvents)
  return (projectId) => counted.get(projectId) ?? NONE
}

const NONE: ReadonlySet<string> = new Set()

/**
 * Counts events per person and day, those that a decision asks about and that are not too old to be asked about. Give it
 * only events that were new, in the transaction that stored them: that is what makes each count exactly once.
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

/** Deletes counts that are too old to be asked about, 5,000 at a time; answers how many. */
export const forgetOldCounts = async (pool: Pool, now: number): Promise<number> => {
  const { rowCount } = await pool.query(FORGET, [dayOf(now - MAX_COUNT_DAYS * DAY_MS)])
  return rowCount ?? 0
}

const dayOf = (ms: number): string => new Date(ms).toISOString().slice(0, 10)

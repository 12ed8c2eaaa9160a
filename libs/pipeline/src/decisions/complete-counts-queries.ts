import { bulkColumns, type Database, NOW } from '@waymark/database'
import { MAX_COUNT_DAYS } from '@waymark/domain/decision'
import type { EventQueries, PersonCount } from '@waymark/event-store'

/** An event that segments count, since when, and the last person whose earlier events were counted. */
type CountedEvent = { projectId: string; event: string; since: Date; countsFrom: Date; person: string | null }

/** How long after a change of segments earlier events are counted: once most of them are stored, in s. */
const SETTLED_SECONDS = 20
/** When they are counted again, for those that were stored late, in s after the pass before. */
const REPEATED_AFTER_SECONDS = [10 * 60, 60 * 60]
const BATCH_PEOPLE = 500
/** Batches of one run, after which other events have their turn. */
const RUN_BATCHES = 10
const DAY_MS = 24 * 60 * 60 * 1000

// One that the previous version has not completed counts as passed.
const IS_WAITING = 'passes <= $2 OR completed_at IS NULL'
// A process of the previous version sets no time from which the writer counts.
// A process has an event for a minute. If it fails, another run follows. The project whose last turn is the longest ago
// comes first, however many events each has.
const CLAIM = `
  UPDATE decision.counted_events AS claimed
  SET due_at = now() + interval '1 minute', counts_from = coalesce(claimed.counts_from, now())
  FROM (
    SELECT waiting.project_id, waiting.event FROM decision.counted_events AS waiting
    JOIN (
      SELECT project_id, max(due_at) AS last_turn FROM decision.counted_events
      WHERE project_id IN (SELECT project_id FROM decision.counted_events WHERE ${IS_WAITING})
      GROUP BY project_id
    ) AS project USING (project_id)
    WHERE (${IS_WAITING}) AND coalesce(waiting.due_at, waiting.since + make_interval(secs => $1)) <= ${NOW}
    ORDER BY waiting.passes, project.last_turn NULLS FIRST, coalesce(waiting.due_at, waiting.since)
    LIMIT 1 FOR NO KEY UPDATE OF waiting SKIP LOCKED
  ) AS due
  WHERE claimed.project_id = due.project_id AND claimed.event = due.event
  RETURNING claimed.project_id AS "projectId", claimed.event, claimed.since, claimed.counts_from AS "countsFrom",
    claimed.counted_person AS person`

const RELEASE = `
  UPDATE decision.counted_events SET due_at = now(), counted_person = $4
  WHERE project_id = $1 AND event = $2 AND since = $3`
const COMPLETE = `
  UPDATE decision.counted_events SET counted_person = NULL, completed_at = coalesce(completed_at, now()), passes = passes + 1,
    due_at = now() + make_interval(secs => coalesce(($4::int[])[passes + 1], 0))
  WHERE project_id = $1 AND event = $2 AND since = $3`

const columns = bulkColumns<PersonCount>([
  { name: 'profile_id', type: 'uuid', of: ({ profileId }) => profileId },
  { name: 'day', type: 'date', of: ({ day }) => day },
  { name: 'n', type: 'int', of: ({ n }) => n },
])
// An erasure of one of them waits, and then deletes what was counted.
const LOCK_PEOPLE = `
  SELECT id FROM ingest.profiles WHERE project_id = $1 AND id = ANY($2::uuid[]) ORDER BY id FOR KEY SHARE`
// The writer changes only `n`, so neither waits for what the other has not committed but the row.
const SET_EARLIER = `
  INSERT INTO decision.profile_event_counts AS known (profile_id, event, day, n, earlier, counts_from)
  SELECT profile_id, $4::text, day, 0, n, $5::timestamptz
  FROM ${columns.unnest} AS given (${columns.names}) ORDER BY profile_id, day
  ON CONFLICT (profile_id, event, day) DO UPDATE SET earlier = excluded.earlier, counts_from = excluded.counts_from,
    n = CASE WHEN known.counts_from = excluded.counts_from THEN known.n ELSE 0 END`

type Deps = {
  db: Pick<Database, 'pool' | 'transaction'>
  eventStore: Pick<EventQueries, 'countByPerson'>
  /** The current time in ms. */
  now: () => number
  settledSeconds?: number
  batchPeople?: number
}

/**
 * Counts the stored events that segments use and that were received before the writer counted them. Each run does a part of
 * one event name. A count is set, not increased, so that a repeat changes nothing; it is repeated twice for late events.
 * @returns a function that returns 1, or 0 when nothing is due
 */
export const createCompleteCounts =
  ({ db, eventStore, now, settledSeconds = SETTLED_SECONDS, batchPeople = BATCH_PEOPLE }: Deps) =>
  async (signal: AbortSignal): Promise<number> => {
    const { rows } = await db.pool.query<CountedEvent>(CLAIM, [settledSeconds, REPEATED_AFTER_SECONDS.length])
    const [claimed] = rows
    if (claimed === undefined) return 0
    const { projectId, event, since, countsFrom } = claimed
    const from = Math.floor(now() / DAY_MS - MAX_COUNT_DAYS) * DAY_MS
    const query = {
      projectId,
      eventName: event,
      from,
      receivedBefore: countsFrom.getTime(),
      people: batchPeople,
    }
    let after = claimed.person ?? undefined
    for (let batch = 0; batch < RUN_BATCHES && !signal.aborted; batch++) {
      const counts = await eventStore.countByPerson({ ...query, after })
      await setEarlier(db, claimed, counts)
      after = counts.at(-1)?.profileId ?? after
      if (new Set(counts.map(({ profileId }) => profileId)).size < batchPeople) {
        await db.pool.query(COMPLETE, [projectId, event, since, REPEATED_AFTER_SECONDS])
        return 1
      }
    }
    await db.pool.query(RELEASE, [projectId, event, since, after])
    return 1
  }

const setEarlier = async (
  db: Pick<Database, 'transaction'>,
  { projectId, event, countsFrom }: CountedEvent,
  counts: readonly PersonCount[],
): Promise<void> => {
  if (counts.length === 0) return
  await db.transaction(async (client) => {
    const people = [...new Set(counts.map(({ profileId }) => profileId))]
    const { rows } = await client.query<{ id: string }>(LOCK_PEOPLE, [projectId, people])
    const known = new Set(rows.map(({ id }) => id))
    const values = columns.values(counts.filter(({ profileId }) => known.has(profileId)))
    await client.query(SET_EARLIER, [...values, event, countsFrom])
  })
}

import type { Database } from '@waymark/database'
import { MAX_COUNT_DAYS } from '@waymark/domain/decision'
import type { PoolClient } from 'pg'
import { type EventPlace, placeBefore } from '../stored-events/index.ts'

/** An event that segments count since a time, and the last event that was counted of it. */
type CountedEvent = { projectId: string; event: string; since: Date; at: Date | null; key: string | null }

/** How long after a change all processes count by it, in s. */
const SETTLED_SECONDS = 15
const BATCH_EVENTS = 5_000
/** Batches of one run, after which other events have their turn. */
const RUN_BATCHES = 10
/** People per transaction. Their counts are locked, and the writer of events waits for them. */
const BATCH_PEOPLE = 100
/** People that are remembered as done. Doing one again changes nothing. */
const MAX_REMEMBERED = 100_000
const DAY_MS = 24 * 60 * 60 * 1000

// A process has an event for a minute. If it fails, another run follows. The project whose last turn is the longest ago
// comes first, however many events each has.
const CLAIM = `
  UPDATE decision.counted_events AS claimed SET due_at = now() + interval '1 minute'
  FROM (
    SELECT waiting.project_id, waiting.event FROM decision.counted_events AS waiting
    JOIN (
      SELECT project_id, max(due_at) AS last_turn FROM decision.counted_events
      WHERE project_id IN (SELECT project_id FROM decision.counted_events WHERE completed_at IS NULL)
      GROUP BY project_id
    ) AS project USING (project_id)
    WHERE waiting.completed_at IS NULL AND coalesce(waiting.due_at, waiting.since + make_interval(secs => $1)) <= now()
    ORDER BY project.last_turn NULLS FIRST, coalesce(waiting.due_at, waiting.since)
    LIMIT 1 FOR NO KEY UPDATE OF waiting SKIP LOCKED
  ) AS due
  WHERE claimed.project_id = due.project_id AND claimed.event = due.event
  RETURNING claimed.project_id AS "projectId", claimed.event, claimed.since, claimed.counted_at AS at,
    claimed.counted_key AS key`

const RELEASE = `
  UPDATE decision.counted_events
  SET due_at = now(), counted_at = $4, counted_key = $5, completed_at = CASE WHEN $6 THEN now() END
  WHERE project_id = $1 AND event = $2 AND since = $3`

const FIND_PEOPLE = `
  SELECT received_at AS at, event_key AS key, profile_id AS "profileId" FROM ingest.events
  WHERE project_id = $1 AND event_name = $2 AND received_at >= $3
    AND (received_at, event_key) > ($3, $4) AND received_at < $5
  ORDER BY received_at, event_key LIMIT $6`

// An erasure of one of them waits, and then deletes what was counted.
const LOCK_PEOPLE = `
  SELECT id FROM ingest.profiles WHERE project_id = $1 AND id = ANY($2::uuid[]) ORDER BY id FOR KEY SHARE`

const EVENTS = `
  SELECT profile_id, ("timestamp" AT TIME ZONE 'UTC')::date AS day, count(*)::int AS n FROM ingest.events
  WHERE project_id = $1 AND event_name = $2 AND profile_id = ANY($3::uuid[]) AND received_at >= $4::timestamptz - interval '1 day'
    AND "timestamp" >= $4 GROUP BY 1, 2`

const LOCK_COUNTS = `
  INSERT INTO decision.profile_event_counts AS known (profile_id, event, day, n)
  SELECT profile_id, $2::text, day, 0 FROM (${EVENTS}) AS found ORDER BY profile_id, day
  ON CONFLICT (profile_id, event, day) DO UPDATE SET n = known.n`

const COUNT = `
  UPDATE decision.profile_event_counts AS known SET n = found.n FROM (${EVENTS}) AS found
  WHERE known.profile_id = found.profile_id AND known.event = $2 AND known.day = found.day AND known.n <> found.n`

type Deps = {
  db: Pick<Database, 'pool' | 'transaction'>
  /** The current time in ms. */
  now: () => number
  settledSeconds?: number
  /** Events of one statement. */
  batchEvents?: number
}

/**
 * Counts the stored events that segments use and that were stored before they were counted. Each run does a part of one
 * event name. Each count is set to the number of stored events, so that a repeat changes nothing.
 * @returns a function that returns 1, or 0 when nothing is due
 */
export const createCompleteCounts = ({
  db,
  now,
  settledSeconds = SETTLED_SECONDS,
  batchEvents = BATCH_EVENTS,
}: Deps) => {
  let done = { of: '', people: new Set<string>() }

  return async (signal: AbortSignal): Promise<number> => {
    const { rows } = await db.pool.query<CountedEvent>(CLAIM, [settledSeconds])
    const [claimed] = rows
    if (claimed === undefined) return 0
    const { projectId, event, since, at, key } = claimed
    const of = `${projectId}/${since.getTime()}/${event}`
    if (done.of !== of || done.people.size > MAX_REMEMBERED) done = { of, people: new Set() }
    const oldest = new Date(Math.floor(now() / DAY_MS - MAX_COUNT_DAYS) * DAY_MS)
    // Whatever was received later is counted when it is stored.
    const end = new Date(since.getTime() + settledSeconds * 1_000)
    let last = at && key ? { at, key } : placeBefore(new Date(oldest.getTime() - DAY_MS))
    let isComplete = false
    for (let batch = 0; batch < RUN_BATCHES && !isComplete && !signal.aborted; batch++) {
      const values = [projectId, event, last.at, last.key, end, batchEvents]
      const { rows: events } = await db.pool.query<EventPlace & { profileId: string | null }>(
        FIND_PEOPLE,
        values,
      )
      const seen = new Set(events.flatMap(({ profileId }) => profileId ?? []))
      const people = [...seen].filter((profileId) => !done.people.has(profileId))
      await countPeople(db, { projectId, event }, people, oldest)
      for (const profileId of people) done.people.add(profileId)
      last = events.at(-1) ?? last
      isComplete = events.length < batchEvents
    }
    await db.pool.query(RELEASE, [projectId, event, since, last.at, last.key, isComplete])
    return 1
  }
}

const countPeople = async (
  db: Pick<Database, 'transaction'>,
  { projectId, event }: Pick<CountedEvent, 'projectId' | 'event'>,
  people: readonly string[],
  oldest: Date,
): Promise<void> => {
  for (let at = 0; at < people.length; at += BATCH_PEOPLE) {
    const batch = people.slice(at, at + BATCH_PEOPLE)
    await db.transaction(async (client: PoolClient) => {
      const { rows } = await client.query<{ id: string }>(LOCK_PEOPLE, [projectId, batch])
      const values = [projectId, event, rows.map(({ id }) => id), oldest]
      await client.query(LOCK_COUNTS, values)
      // A statement of its own, which sees what was stored until the counts were locked.
      await client.query(COUNT, values)
    })
  }
}

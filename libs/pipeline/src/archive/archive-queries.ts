import type { EnrichedEvent } from '@waymark/contracts/records/enriched-event'
import { bulkColumns, type Database, NOW } from '@waymark/database'
import { eventKeyOf } from '@waymark/domain/ingestion'
import type { EventQueries, PlacedEvent } from '@waymark/event-store'
import type { ClientBase, Pool } from 'pg'
import { MAX, NIL, v7 as uuidv7 } from 'uuid'
import type { ArchivedUntil } from '../retention/index.ts'

const RETRY_SECONDS = 30
const MAX_RETRY_SECONDS = 10 * 60

const queueColumns = bulkColumns<EnrichedEvent>([
  { name: 'project_id', type: 'uuid', of: (event) => event.projectId },
  { name: 'received_at', type: 'timestamptz', of: (event) => event.receivedAt },
  { name: 'event_key', type: 'uuid', of: (event) => eventKeyOf(event.eventId) },
])

/** Queues new events for the archive, in the transaction that stores them. */
export const queueForArchive = async (
  client: ClientBase,
  events: readonly EnrichedEvent[],
): Promise<void> => {
  if (events.length === 0) return
  await client.query({
    name: 'queue-for-archive',
    text: `INSERT INTO ingest.archive_queue (${queueColumns.names}) SELECT * FROM ${queueColumns.unnest} ORDER BY 1, 2, 3`,
    values: queueColumns.values(events),
  })
}

/** A file that this process writes, or whose manifest it writes. */
export type ClaimedFile = {
  id: string
  projectId: string
  /** The hour of receipt of its events. */
  hour: Date
  format: string
  /** How many processes have begun to write it, this one included. */
  attempt: number
  /** Whether it was rewritten, and its manifest is yet to be. */
  manifestPending: boolean
  /** What was written, once the file is in the store. */
  written: WrittenFile | undefined
}
export type WrittenFile = {
  name: string
  events: number
  bytes: number
  sha256: string
  firstReceivedAt: Date
  lastReceivedAt: Date
}
/** A file that this process has written; `people` has the key of each person with events in it. */
export type NewFile = WrittenFile & { people: readonly number[] }

export type FileRow = {
  id: string
  project_id: string
  hour: Date
  format: string
  attempt: number
  manifest_pending: boolean
  name: string | null
  events: number
  bytes: string
  sha256: string
  first_received_at: Date
  last_received_at: Date
}
export const FILE_COLUMNS =
  'id, project_id, hour, format, attempt, manifest_pending, name, events, bytes, sha256, first_received_at, last_received_at'

export const fileOf = (row: FileRow): ClaimedFile => ({
  id: row.id,
  projectId: row.project_id,
  hour: row.hour,
  format: row.format,
  attempt: row.attempt,
  manifestPending: row.manifest_pending,
  written:
    row.name === null
      ? undefined
      : {
          name: row.name,
          events: row.events,
          bytes: Number(row.bytes),
          sha256: row.sha256,
          firstReceivedAt: row.first_received_at,
          lastReceivedAt: row.last_received_at,
        },
})

// A file that is in the store only lacks its manifest, which every process writes in the same way: no new attempt.
const RESUME = `
  UPDATE ingest.archive_files SET lease_until = now() + make_interval(secs => $1),
    attempt = attempt + CASE WHEN name IS NULL THEN 1 ELSE 0 END
  WHERE id = (
    SELECT id FROM ingest.archive_files WHERE finished_at IS NULL AND lease_until <= ${NOW} AND (failures > 0) = $2
    ORDER BY lease_until LIMIT 1 FOR UPDATE SKIP LOCKED
  )
  RETURNING ${FILE_COLUMNS}`
// A project has one failing file at most, so that a store that is unavailable does not lead to more and more claims.
const BEGIN = `
  INSERT INTO ingest.archive_files (id, project_id, hour, format, attempt, lease_until)
  SELECT $1, projects.id, date_trunc('hour', oldest.received_at, 'UTC'), $2, 1, now() + make_interval(secs => $3)
  FROM core.projects CROSS JOIN LATERAL (
    SELECT received_at FROM ingest.archive_queue
    WHERE project_id = projects.id AND file_id IS NULL AND received_at < $4 ORDER BY received_at LIMIT 1
  ) AS oldest
  WHERE projects.id <> ALL (ARRAY(
    SELECT project_id FROM ingest.archive_files WHERE finished_at IS NULL AND failures > 0
  ))
  ORDER BY oldest.received_at LIMIT 1
  RETURNING ${FILE_COLUMNS}`
const TAKE = `
  WITH taken AS (
    SELECT received_at, event_key FROM ingest.archive_queue
    WHERE project_id = $2 AND received_at >= $3 AND received_at < $3 + interval '1 hour' AND file_id IS NULL
    ORDER BY received_at, event_key LIMIT $4 FOR UPDATE SKIP LOCKED
  )
  UPDATE ingest.archive_queue AS queue SET file_id = $1 FROM taken
  WHERE queue.project_id = $2 AND queue.received_at >= $3 AND queue.received_at < $3 + interval '1 hour'
    AND queue.received_at = taken.received_at AND queue.event_key = taken.event_key`

/** A file that a process has left: one that failed there, or one that did not. `undefined` when none is due. */
export const resumeFile = async (
  pool: Pool,
  leaseSeconds: number,
  { failed }: { failed: boolean },
): Promise<ClaimedFile | undefined> => {
  const { rows } = await pool.query<FileRow>(RESUME, [leaseSeconds, failed])
  return rows[0] && fileOf(rows[0])
}

/** Claims up to `maxEvents` queued events of one project and hour for a new file, those received before `before`. */
export const beginFile = (
  db: Database,
  {
    format,
    before,
    maxEvents,
    leaseSeconds,
  }: { format: string; before: Date; maxEvents: number; leaseSeconds: number },
): Promise<ClaimedFile | undefined> =>
  db.transaction(async (client) => {
    const { rows } = await client.query<FileRow>(BEGIN, [uuidv7(), format, leaseSeconds, before])
    const [row] = rows
    if (!row) return undefined
    await client.query(TAKE, [row.id, row.project_id, row.hour, maxEvents])
    return fileOf(row)
  })

const READ_PLACES = `
  SELECT received_at AS at, event_key AS key FROM ingest.archive_queue
  WHERE file_id = $1 AND project_id = $2 AND received_at >= $3 AND received_at < $3 + interval '1 hour'
    AND received_at >= $4 AND (received_at, event_key) > ($4, $5)
  ORDER BY received_at, event_key LIMIT $6`

/** The places of the events of a file in the order of their receipt, `portion` at a time. */
export async function* readFilePlaces(
  pool: Pool,
  { id, projectId, hour }: ClaimedFile,
  portion: number,
): AsyncGenerator<PlacedEvent[]> {
  // Before all events of the hour. A client can choose any key, also the least one.
  for (let after = { at: new Date(hour.getTime() - 1), key: MAX }; ; ) {
    const values = [id, projectId, hour, after.at, after.key, portion]
    const { rows }: { rows: (typeof after)[] } = await pool.query(READ_PLACES, values)
    if (rows.length > 0) yield rows.map(({ at, key }) => ({ receivedAt: at.getTime(), eventKey: key }))
    const last = rows.at(-1)
    if (!last || rows.length < portion) return
    after = last
  }
}

const DEQUEUE = `
  DELETE FROM ingest.archive_queue USING unnest($2::timestamptz[], $3::uuid[]) AS gone (received_at, event_key)
  WHERE archive_queue.project_id = $1
    AND archive_queue.received_at = gone.received_at AND archive_queue.event_key = gone.event_key`

/**
 * Takes events off the queue that will not be in the event store, because they are erased or refused. The archive waits for
 * events that are queued and not stored yet.
 */
export const dequeueForGood = async (
  client: ClientBase | Pool,
  projectId: string,
  places: readonly PlacedEvent[],
): Promise<void> => {
  const times = places.map(({ receivedAt }) => new Date(receivedAt))
  const keys = places.map(({ eventKey }) => eventKey)
  await client.query(DEQUEUE, [projectId, times, keys])
}

const SET_WRITTEN = `
  UPDATE ingest.archive_files SET name = $3, events = $4, bytes = $5, sha256 = $6, first_received_at = $7, last_received_at = $8,
    people = $9
  WHERE id = $1 AND attempt = $2 AND name IS NULL`

/** Records what is in the store. False when another process has taken over the file. */
export const setWritten = async (
  pool: Pool,
  { id, attempt }: ClaimedFile,
  { name, events, bytes, sha256, firstReceivedAt, lastReceivedAt, people }: NewFile,
): Promise<boolean> => {
  const values = [id, attempt, name, events, bytes, sha256, firstReceivedAt, lastReceivedAt, people]
  return (await pool.query(SET_WRITTEN, values)).rowCount === 1
}

// Its lease ends, so that an erasure does not wait.
const FINISH = `
  UPDATE ingest.archive_files SET finished_at = now(), lease_until = now() WHERE id = $1`

/** Records that the manifest is written, which ends the work on the events of the file. */
export const finishFile = (db: Database, { id }: ClaimedFile): Promise<void> =>
  db.transaction(async (client) => {
    await client.query('DELETE FROM ingest.archive_queue WHERE file_id = $1', [id])
    await client.query(FINISH, [id])
  })

/** Forgets a file without events. False when another process has taken it over. */
export const dropEmptyFile = (db: Database, { id, attempt }: ClaimedFile): Promise<boolean> =>
  db.transaction(async (client) => {
    const { rowCount } = await client.query(
      'DELETE FROM ingest.archive_files WHERE id = $1 AND attempt = $2 AND name IS NULL',
      [id, attempt],
    )
    if (rowCount !== 1) return false
    await client.query('DELETE FROM ingest.archive_queue WHERE file_id = $1', [id])
    return true
  })

const RELEASE = `
  UPDATE ingest.archive_files SET lease_until = now() WHERE id = $1 AND attempt = $2`

const POSTPONE = `
  UPDATE ingest.archive_files SET failures = failures + 1,
    lease_until = now() + make_interval(secs => least(${MAX_RETRY_SECONDS}, ${RETRY_SECONDS} * 2 ^ least(failures, 10)))
  WHERE id = $1 AND attempt = $2`

/** Lets any process continue with a file later: after 30 s, then twice as long after each failure, up to 10 minutes. */
export const postponeFile = async (pool: Pool, { id, attempt }: ClaimedFile): Promise<void> => {
  await pool.query(POSTPONE, [id, attempt])
}

/** Lets any process continue with a file at once. */
export const releaseFile = async (pool: Pool, { id, attempt }: ClaimedFile): Promise<void> => {
  await pool.query(RELEASE, [id, attempt])
}

// By project, so that the events of projects that wait for an archive are not read.
const FORGET = `
  DELETE FROM ingest.archive_queue WHERE ctid = ANY(ARRAY(
    SELECT waiting.row_id FROM core.projects CROSS JOIN LATERAL (
      SELECT ctid AS row_id FROM ingest.archive_queue WHERE project_id = projects.id AND file_id IS NULL
      LIMIT 5000 FOR UPDATE SKIP LOCKED
    ) AS waiting
    WHERE (projects.settings->>'archiveEvents')::boolean IS NOT TRUE LIMIT 5000
  ))`

// Its row stays: if there is an archive again, what attempts left in the store is removed.
const FORGET_ABANDONED = `
  DELETE FROM ingest.archive_queue WHERE file_id IN (
    SELECT files.id FROM ingest.archive_files files JOIN core.projects ON projects.id = files.project_id
    WHERE files.finished_at IS NULL AND files.lease_until <= ${NOW}
      AND (projects.settings->>'archiveEvents')::boolean IS NOT TRUE
  )`

/**
 * For deployments without an archive: takes events of projects that want none any more off the queue, because these would
 * keep the retention from removing them for ever. At most 5,000 at once, and those of files that no process works on;
 * resolves to how many.
 */
export const forgetQueued = async (pool: Pool): Promise<number> => {
  const abandoned = await pool.query(FORGET_ABANDONED)
  const waiting = await pool.query(FORGET)
  return (abandoned.rowCount ?? 0) + (waiting.rowCount ?? 0)
}

/** How long (in s) the longest-waiting event has been queued since its hour ended; 0 when none is. */
export const readArchiveDelay = async (pool: Pool): Promise<number> => {
  const { rows } = await pool.query<{ seconds: number }>(`
    SELECT greatest(0, extract(epoch FROM now() - date_trunc('hour', min(at), 'UTC') - interval '1 hour'))::float8 AS seconds
    FROM (
      (SELECT received_at AS at FROM ingest.archive_queue WHERE file_id IS NULL ORDER BY received_at LIMIT 1)
      UNION ALL SELECT hour FROM ingest.archive_files files
      WHERE finished_at IS NULL AND EXISTS (SELECT FROM ingest.archive_queue WHERE file_id = files.id)
    ) AS waiting`)
  return rows[0]?.seconds ?? 0
}

/** Until when the archive has the events of a project: its first queued event. `undefined` when none is queued. */
export const createArchivedUntil =
  (pool: Pool): ArchivedUntil =>
  async (projectId) => {
    const { rows } = await pool.query<{ at: Date | null }>(
      'SELECT min(received_at) AS at FROM ingest.archive_queue WHERE project_id = $1',
      [projectId],
    )
    return rows[0]?.at?.getTime()
  }

/** All files that are finished, also those that are being rewritten. */
export async function* listFinishedFiles(pool: Pool): AsyncGenerator<ClaimedFile> {
  for (let last: string = NIL; ; ) {
    const { rows } = await pool.query<FileRow>(
      `SELECT ${FILE_COLUMNS} FROM ingest.archive_files WHERE finished_at IS NOT NULL AND id > $1 ORDER BY id LIMIT 500`,
      [last],
    )
    yield* rows.map(fileOf)
    const end = rows.at(-1)
    if (!end) return
    last = end.id
  }
}

/** A finished file as it is now; undefined once it is removed. */
export const findFinishedFile = async (pool: Pool, { id }: ClaimedFile): Promise<ClaimedFile | undefined> => {
  const { rows } = await pool.query<FileRow>(
    `SELECT ${FILE_COLUMNS} FROM ingest.archive_files WHERE id = $1 AND finished_at IS NOT NULL`,
    [id],
  )
  return rows[0] && fileOf(rows[0])
}

/** Files of the archive, whether they are finished or not. */
export const findFiles = async (
  pool: Pool,
  ids: readonly string[],
): Promise<{ file: ClaimedFile; isFinished: boolean }[]> => {
  const { rows } = await pool.query<FileRow & { is_finished: boolean }>(
    `SELECT ${FILE_COLUMNS}, finished_at IS NOT NULL AS is_finished FROM ingest.archive_files WHERE id = ANY($1::uuid[])`,
    [ids],
  )
  return rows.map((row) => ({ file: fileOf(row), isFinished: row.is_finished }))
}

export type HourCount = { projectId: string; hour: Date; archived: number; stored: number }

export const HOUR_MS = 60 * 60 * 1000
const LIST_PROJECTS = `
  SELECT project_id AS "projectId", min(hour) AS first, max(hour) AS last FROM ingest.archive_files
  WHERE finished_at IS NOT NULL GROUP BY project_id ORDER BY project_id`
const COUNT_HOURS = `
  SELECT hour, coalesce(archived, 0)::float8 AS archived, coalesce(queued, 0)::float8 AS queued
  FROM (
    SELECT hour, sum(events) AS archived FROM ingest.archive_files
    WHERE project_id = $1 AND finished_at IS NOT NULL GROUP BY hour
  ) AS files FULL JOIN (
    SELECT date_trunc('hour', received_at, 'UTC') AS hour, count(*) AS queued FROM ingest.archive_queue
    WHERE project_id = $1 GROUP BY 1
  ) AS queue USING (hour)`
/** Places of events per read. */
const PLACES_PER_READ = 10_000

/**
 * For each project that has files and each hour from the first to the last of them: the events in files, and those in the
 * event store that are not queued. Hours without either are left out.
 */
export async function* countHours(
  pool: Pool,
  events: Pick<EventQueries, 'readPlaces'>,
): AsyncGenerator<HourCount> {
  const { rows: projects } = await pool.query<{ projectId: string; first: Date; last: Date }>(LIST_PROJECTS)
  for (const { projectId, first, last } of projects) {
    const stored = new Map<number, number>()
    const range = { receivedFrom: first.getTime(), below: { receivedAt: last.getTime() + HOUR_MS } }
    for await (const { places } of events.readPlaces({ projectId, ...range, portion: () => PLACES_PER_READ }))
      for (const { receivedAt } of places) {
        const hour = receivedAt - (receivedAt % HOUR_MS)
        stored.set(hour, (stored.get(hour) ?? 0) + 1)
      }
    const { rows } = await pool.query<{ hour: Date; archived: number; queued: number }>(COUNT_HOURS, [
      projectId,
    ])
    const files = new Map(rows.map((row) => [row.hour.getTime(), row]))
    for (const hour of [...new Set([...stored.keys(), ...files.keys()])].sort((a, b) => a - b)) {
      const { archived = 0, queued = 0 } = files.get(hour) ?? {}
      const count = { archived, stored: (stored.get(hour) ?? 0) - queued }
      const isBetween = hour >= first.getTime() && hour <= last.getTime()
      if (isBetween && (count.archived > 0 || count.stored > 0))
        yield { projectId, hour: new Date(hour), ...count }
    }
  }
}

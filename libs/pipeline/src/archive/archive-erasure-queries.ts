import { NOW } from '@waymark/database'
import type { ClientBase, Pool } from 'pg'
import {
  type ClaimedFile,
  FILE_COLUMNS,
  type FileRow,
  fileOf,
  type NewFile,
  type WrittenFile,
} from './archive-queries.ts'
import { personKey } from './person-key.ts'

const RETRY_SECONDS = 60
/** Erasures whose files are read together. */
const MAX_ERASURES = 1_000

// The transaction has locked out records, so all events of the person are queued or in a file that is known.
const ADD = `
  INSERT INTO ingest.archive_erasures (id, project_id, profile_ids, erased_at, due_at)
  SELECT $1, $2, $3, $4, now()
  WHERE EXISTS (SELECT FROM ingest.archive_files WHERE project_id = $2)
    OR EXISTS (SELECT FROM ingest.archive_queue WHERE project_id = $2)`

type Erasure = { id: string; projectId: string; profileIds: readonly string[]; erasedAt: Date }

/** Has the archive erase people as well. Returns false when the project has nothing in the archive. */
export const addArchiveErasure = async (
  client: ClientBase,
  { id, projectId, profileIds, erasedAt }: Erasure,
): Promise<boolean> => (await client.query(ADD, [id, projectId, profileIds, erasedAt])).rowCount === 1

/** Erasures of one project that are equally far. */
export type ArchiveErasures = {
  ids: string[]
  projectId: string
  profileIds: ReadonlySet<string>
  /** Files of later hours do not have the people. */
  erasedAt: Date
  /** The last file that was checked. */
  checkedUntil: string
}

type ErasureRow = {
  id: string
  project_id: string
  profile_ids: string[]
  erased_at: Date
  checked_until: string
}

// A file that is begun once the events are purged does not have them. Those from before are all known by then.
const isDue = (erasure: string): string => `${erasure}.due_at <= ${NOW}
    AND NOT EXISTS (SELECT FROM ingest.erasure_jobs WHERE erasure_jobs.id = ${erasure}.id)`
const TAKE = `
  WITH next AS (
    SELECT project_id, checked_until FROM ingest.archive_erasures erasure WHERE ${isDue('erasure')}
    ORDER BY due_at, id LIMIT 1
  ), taken AS (
    SELECT erasure.id FROM ingest.archive_erasures erasure JOIN next USING (project_id, checked_until)
    WHERE ${isDue('erasure')} ORDER BY erasure.id LIMIT ${MAX_ERASURES} FOR UPDATE OF erasure SKIP LOCKED
  )
  UPDATE ingest.archive_erasures AS erasure SET due_at = now() + make_interval(secs => $1) FROM taken
  WHERE erasure.id = taken.id
  RETURNING erasure.id, erasure.project_id, erasure.profile_ids, erasure.erased_at, erasure.checked_until`

/** Takes due erasures of one project for `seconds`. `undefined` when none is due. */
export const takeArchiveErasures = async (
  pool: Pool,
  seconds: number,
): Promise<ArchiveErasures | undefined> => {
  const { rows } = await pool.query<ErasureRow>(TAKE, [seconds])
  const [row] = rows
  if (!row) return undefined
  return {
    ids: rows.map(({ id }) => id),
    projectId: row.project_id,
    profileIds: new Set(rows.flatMap(({ profile_ids }) => profile_ids)),
    erasedAt: new Date(Math.max(...rows.map(({ erased_at }) => erased_at.getTime()))),
    checkedUntil: row.checked_until,
  }
}

const SET_CHECKED = `
  UPDATE ingest.archive_erasures SET checked_until = $2, due_at = now() + make_interval(secs => $3)
  WHERE id = ANY($1::uuid[])`
const SET_DUE = `
  UPDATE ingest.archive_erasures SET due_at = now() + make_interval(secs => $2)
  WHERE id = ANY($1::uuid[])`

/** Records that a file does not have the people, and keeps the erasures for `seconds`. */
export const setChecked = async (
  pool: Pool,
  { ids }: ArchiveErasures,
  file: ClaimedFile,
  seconds: number,
): Promise<void> => {
  await pool.query(SET_CHECKED, [ids, file.id, seconds])
}

/** Lets any process continue with the erasures at once. */
export const releaseErasures = async (pool: Pool, { ids }: ArchiveErasures): Promise<void> => {
  await pool.query(SET_DUE, [ids, 0])
}

/** Lets any process continue with the erasures in a minute. */
export const postponeErasures = async (pool: Pool, { ids }: ArchiveErasures): Promise<void> => {
  await pool.query(SET_DUE, [ids, RETRY_SECONDS])
}

const COUNT_FILE =
  'UPDATE ingest.erasure_records SET archive_files = archive_files + 1 WHERE id = ANY($1::uuid[])'

/** Counts a file that was rewritten without the people, in the records of their erasures. */
export const countRewritten = async (pool: Pool, { ids }: ArchiveErasures): Promise<void> => {
  await pool.query(COUNT_FILE, [ids])
}

const END = `
  WITH ended AS (DELETE FROM ingest.archive_erasures WHERE id = ANY($1::uuid[]) RETURNING id)
  UPDATE ingest.erasure_records record SET archive_removed_at = now() FROM ended WHERE record.id = ended.id`

/** Ends erasures whose files are all checked, and records when. */
export const endErasures = async (pool: Pool, { ids }: ArchiveErasures): Promise<void> => {
  await pool.query(END, [ids])
}

/** A file that an erasure checks, which need not be read unless it may have the people. */
export type FileToCheck = { file: ClaimedFile; isFinished: boolean; mayHavePeople: boolean }

/** The file after the last one that was checked; undefined after the last. */
export const findFileToCheck = async (
  pool: Pool,
  { projectId, profileIds, erasedAt, checkedUntil }: ArchiveErasures,
): Promise<FileToCheck | undefined> => {
  const { rows } = await pool.query<FileRow & { is_finished: boolean; may_have_people: boolean }>(
    `SELECT ${FILE_COLUMNS}, finished_at IS NOT NULL AS is_finished,
       people IS NULL OR EXISTS (SELECT FROM unnest(people) AS person WHERE person = ANY($4::int[])) AS may_have_people
     FROM (
       SELECT * FROM ingest.archive_files WHERE project_id = $1 AND hour <= $2 AND id > $3 ORDER BY id LIMIT 1
     ) AS next`,
    [projectId, erasedAt, checkedUntil, [...profileIds].map(personKey)],
  )
  const [row] = rows
  return row && { file: fileOf(row), isFinished: row.is_finished, mayHavePeople: row.may_have_people }
}

const CLAIM = `
  UPDATE ingest.archive_files SET lease_until = now() + make_interval(secs => $2),
    attempt = attempt + CASE WHEN manifest_pending THEN 0 ELSE 1 END
  WHERE id = $1 AND finished_at IS NOT NULL AND lease_until <= ${NOW}
  RETURNING ${FILE_COLUMNS}`

/** Claims a finished file to be rewritten; undefined when another process has it. */
export const claimRewrite = async (
  pool: Pool,
  { id }: ClaimedFile,
  seconds: number,
): Promise<ClaimedFile | undefined> => {
  const { rows } = await pool.query<FileRow>(CLAIM, [id, seconds])
  return rows[0] && fileOf(rows[0])
}

const SET_REWRITTEN = `
  UPDATE ingest.archive_files SET manifest_pending = true,
    name = $3, events = $4, bytes = $5, sha256 = $6, first_received_at = $7, last_received_at = $8, people = $9
  WHERE id = $1 AND attempt = $2`

/** Records what the present attempt has written. False when another process has taken over the file. */
export const setRewritten = async (
  pool: Pool,
  { id, attempt }: ClaimedFile,
  { name, events, bytes, sha256, firstReceivedAt, lastReceivedAt, people }: NewFile,
): Promise<boolean> => {
  const values = [id, attempt, name, events, bytes, sha256, firstReceivedAt, lastReceivedAt, people]
  return (await pool.query(SET_REWRITTEN, values)).rowCount === 1
}

/** Records that the manifest of a rewritten file is written, or deletes the row of a file without events. */
export const finishRewrite = async (
  pool: Pool,
  { id, attempt }: ClaimedFile,
  { events }: WrittenFile,
): Promise<void> => {
  await pool.query(
    events === 0
      ? 'DELETE FROM ingest.archive_files WHERE id = $1 AND attempt = $2'
      : `UPDATE ingest.archive_files SET manifest_pending = false, lease_until = now()
         WHERE id = $1 AND attempt = $2`,
    [id, attempt],
  )
}

/** How many erasures the archive has yet to follow, and the age of the oldest, in s. */
export const readWaitingErasures = async (pool: Pool): Promise<{ count: number; seconds: number }> => {
  const { rows } = await pool.query<{ count: number; seconds: number }>(`
    SELECT count(*)::int AS count, coalesce(greatest(0, extract(epoch FROM now() - min(erased_at))), 0)::float8 AS seconds
    FROM ingest.archive_erasures`)
  return rows[0] ?? { count: 0, seconds: 0 }
}

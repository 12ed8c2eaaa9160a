import { type Database, retryConflicts } from '@waymark/database'
import type { ClientBase } from 'pg'
import { v7 as uuidv7 } from 'uuid'
import { addArchiveErasure } from '../archive/index.ts'
import { erasureHash, lockOutRecords } from '../erasure/index.ts'
import type { ErasureJob } from './erasure-job-queries.ts'
import { addErasureRecord } from './erasure-record-queries.ts'

/**
 * Added to the time of an erasure, in ms, so that it covers what is received while it is written, also by a gateway
 * whose clock is slightly behind.
 */
const MARGIN_MS = 500

const LIVING = `
  SELECT DISTINCT coalesce(merged_into, id) AS id FROM ingest.profiles WHERE project_id = $1 AND id = ANY($2::uuid[])`
const OWNERS = `
  SELECT DISTINCT profile_id AS id FROM ingest.identities
  WHERE project_id = $1 AND ((kind = 'visitor' AND value = ANY($2)) OR (kind = 'user' AND value = ANY($3)))`
const LOCK_IDENTITIES = `
  SELECT kind, value FROM ingest.identities WHERE project_id = $1 AND profile_id = ANY($2::uuid[])
  ORDER BY project_id, kind, value FOR UPDATE`
const LOCK_PROFILES = `
  SELECT id FROM ingest.profiles
  WHERE project_id = $1 AND (id = ANY($2::uuid[]) OR merged_into = ANY($2::uuid[])) ORDER BY id FOR UPDATE`
const REMEMBER = `
  INSERT INTO ingest.erasures (project_id, kind, hash, erased_at, successor)
  SELECT given.project_id, given.kind, ${erasureHash('given')}, $4, gen_random_uuid()
  FROM (SELECT $1::uuid AS project_id, kind, value FROM unnest($2::text[], $3::text[]) AS ids (kind, value)) AS given
  ORDER BY 2, 3
  ON CONFLICT (project_id, kind, hash) DO UPDATE SET erased_at = excluded.erased_at, successor = excluded.successor`
const ADD_JOB = `
  INSERT INTO ingest.erasure_jobs (id, project_id, profile_ids, visitor_ids, user_ids, erased_at)
  VALUES ($1, $2, $3, $4, $5, $6)`

type EraseDeps = { db: Pick<Database, 'transaction'>; now: () => number }
type ToErase = {
  projectId: string
  /** The profile, or one that was merged into it. */
  profileId: string
  /** Called with the locked profile before it is erased. Nothing is erased when it throws. */
  confirm?: (client: ClientBase, profileId: string) => Promise<void>
}

/**
 * Erases a person. Once it resolves, the person is unknown, records received before are no longer stored, and those
 * received later belong to a new person. The returned job deletes the stored data; see `createPurger`.
 * @returns `undefined` when the profile does not exist
 */
export const eraseProfile = (
  { db, now }: EraseDeps,
  { projectId, profileId, confirm }: ToErase,
): Promise<Erasure | undefined> =>
  retryConflicts(() =>
    db.transaction(async (client) => {
      await lockOutRecords(client, projectId)
      return eraseInTransaction(client, { projectId, profileIds: [profileId], now, confirm })
    }),
  )

/**
 * Erases the people to whom ids belong, as one job. `confirm` is called for each of them.
 * @returns `undefined` when the ids belong to no person
 */
export const erasePeople = (
  { db, now }: EraseDeps,
  {
    projectId,
    visitorIds,
    userIds,
    confirm,
  }: Pick<ErasureJob, 'projectId' | 'visitorIds' | 'userIds'> & Pick<ToErase, 'confirm'>,
): Promise<Erasure | undefined> =>
  retryConflicts(() =>
    db.transaction(async (client) => {
      await lockOutRecords(client, projectId)
      const { rows } = await client.query<{ id: string }>(OWNERS, [projectId, visitorIds, userIds])
      return eraseInTransaction(client, { projectId, profileIds: rows.map(({ id }) => id), now, confirm })
    }),
  )

/** `inArchive`: whether the archive may have events of the person. They are taken out later; see `createArchiveEraser`. */
export type Erasure = ErasureJob & { inArchive: boolean }

type InTransaction = Omit<ToErase, 'profileId' | 'confirm'> & {
  profileIds: readonly string[]
  now: () => number
  confirm?: ToErase['confirm'] | undefined
}

const eraseInTransaction = async (
  client: ClientBase,
  { projectId, profileIds: wanted, now, confirm }: InTransaction,
): Promise<Erasure | undefined> => {
  const found = await client.query<{ id: string }>(LIVING, [projectId, wanted])
  const living = found.rows.map(({ id }) => id)
  if (living.length === 0) return undefined
  // Identities before profiles, the same order as in other transactions.
  const identities = await client.query<{ kind: string; value: string }>(LOCK_IDENTITIES, [projectId, living])
  const profiles = await client.query<{ id: string }>(LOCK_PROFILES, [projectId, living])
  const profileIds = profiles.rows.map(({ id }) => id)
  // Merged into another profile before the locks.
  if (!living.some((id) => profileIds.includes(id))) return undefined
  for (const id of living) await confirm?.(client, id)

  const valuesOf = (kind: string) =>
    identities.rows.filter((row) => row.kind === kind).map(({ value }) => value)
  const job: ErasureJob = {
    id: uuidv7(),
    projectId,
    profileIds,
    visitorIds: valuesOf('visitor'),
    userIds: valuesOf('user'),
    erasedAt: new Date(now() + MARGIN_MS),
  }
  await client.query(REMEMBER, [
    projectId,
    identities.rows.map(({ kind }) => kind),
    identities.rows.map(({ value }) => value),
    job.erasedAt,
  ])
  const { id, visitorIds, userIds, erasedAt } = job
  await client.query(ADD_JOB, [id, projectId, profileIds, visitorIds, userIds, erasedAt])
  const inArchive = await addArchiveErasure(client, job)
  await addErasureRecord(client, { ...job, inArchive })
  await client.query('DELETE FROM ingest.identities WHERE project_id = $1 AND profile_id = ANY($2::uuid[])', [
    projectId,
    living,
  ])
  await client.query('DELETE FROM ingest.profiles WHERE id = ANY($1::uuid[])', [profileIds])
  return { ...job, inArchive }
}

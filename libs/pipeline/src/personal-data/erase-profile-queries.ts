import { type Database, retryConflicts } from '@waymark/database'
import type { ClientBase } from 'pg'
import { v7 as uuidv7 } from 'uuid'
import { erasureHash, lockOutRecords } from '../erasure/index.ts'
import type { ErasureJob } from './erasure-job.ts'

/**
 * How much later than now an erasure takes effect, in ms: what is received while it is being written still belongs to
 * the person who is erased, also by a gateway's clock that is a little behind.
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
  /** Called with the profile that is about to go, which is locked; nothing is erased when it throws. */
  confirm?: (client: ClientBase, profileId: string) => Promise<void>
}

/**
 * Erases a person: from when this resolves they are unknown, nothing that was received of them before is stored any more,
 * and whatever is received later is a new person's. What is stored of them goes with the job, which `purge` carries out.
 * @returns `undefined` when there is no such profile
 */
export const eraseProfile = (
  { db, now }: EraseDeps,
  { projectId, profileId, confirm }: ToErase,
): Promise<ErasureJob | undefined> =>
  retryConflicts(() =>
    db.transaction(async (client) => {
      await lockOutRecords(client, projectId)
      return eraseInTransaction(client, { projectId, profileIds: [profileId], now, confirm })
    }),
  )

/**
 * Erases the people to whom ids belong, as one job.
 * @returns `undefined` when the ids belong to nobody
 */
export const erasePeople = (
  { db, now }: EraseDeps,
  { projectId, visitorIds, userIds }: Pick<ErasureJob, 'projectId' | 'visitorIds' | 'userIds'>,
): Promise<ErasureJob | undefined> =>
  retryConflicts(() =>
    db.transaction(async (client) => {
      await lockOutRecords(client, projectId)
      const { rows } = await client.query<{ id: string }>(OWNERS, [projectId, visitorIds, userIds])
      return eraseInTransaction(client, { projectId, profileIds: rows.map(({ id }) => id), now })
    }),
  )

type InTransaction = Omit<ToErase, 'profileId' | 'confirm'> & {
  profileIds: readonly string[]
  now: () => number
  confirm?: ToErase['confirm'] | undefined
}

const eraseInTransaction = async (
  client: ClientBase,
  { projectId, profileIds: wanted, now, confirm }: InTransaction,
): Promise<ErasureJob | undefined> => {
  const found = await client.query<{ id: string }>(LIVING, [projectId, wanted])
  const living = found.rows.map(({ id }) => id)
  if (living.length === 0) return undefined
  // Identities first, then profiles, as everybody does.
  const identities = await client.query<{ kind: string; value: string }>(LOCK_IDENTITIES, [projectId, living])
  const profiles = await client.query<{ id: string }>(LOCK_PROFILES, [projectId, living])
  const profileIds = profiles.rows.map(({ id }) => id)
  // Merged into another by somebody who had the locks before.
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
  await client.query('DELETE FROM ingest.identities WHERE project_id = $1 AND profile_id = ANY($2::uuid[])', [
    projectId,
    living,
  ])
  await client.query('DELETE FROM ingest.profiles WHERE id = ANY($1::uuid[])', [profileIds])
  return job
}

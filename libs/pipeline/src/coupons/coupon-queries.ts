import type { CouponStatus, PoolKind, PoolStatus } from '@waymark/contracts/coupon'
import type { Discount } from '@waymark/contracts/http/coupon-views'
import { bulkColumns, type Database, NOW } from '@waymark/database'
import type { ClientBase, Pool } from 'pg'
import { v7 as uuidv7 } from 'uuid'

/** A normalized code. `display` is set when its display form cannot be derived from the pool. */
type NewCode = { code: string; display: string | null }

type Row = NewCode & { id: string }

const columns = bulkColumns<Row>([
  { name: 'id', type: 'uuid', of: ({ id }) => id },
  { name: 'code', type: 'text', of: ({ code }) => code },
  { name: 'display', type: 'text', of: ({ display }) => display },
])

// In the order of the index of codes, so that writers do not deadlock.
const INSERT = `
  INSERT INTO coupon.coupons (project_id, pool_id, ${columns.names})
  SELECT $4::uuid, $5::uuid, ${columns.names} FROM ${columns.unnest} AS given (${columns.names}) ORDER BY code COLLATE "C"
  ON CONFLICT (project_id, code) DO NOTHING RETURNING code`

/**
 * Adds coupons to a pool, except those whose code exists in the project. The caller must increase `generated` of the pool
 * in the same transaction, with the pool's row locked.
 * @returns the codes that were new
 */
export const insertCoupons = async (
  client: ClientBase,
  pool: { id: string; projectId: string },
  codes: readonly NewCode[],
): Promise<string[]> => {
  const rows = codes.map(({ code, display }) => ({ id: uuidv7(), code, display }))
  const inserted = await client.query<{ code: string }>({
    name: 'insert-coupons',
    text: INSERT,
    values: [...columns.values(rows), pool.projectId, pool.id],
  })
  return inserted.rows.map(({ code }) => code)
}

type PoolRow = {
  kind: PoolKind
  status: PoolStatus
  prefix: string
  discount: Discount
  starts_at: Date | null
  expires_at: Date | null
  max_redemptions: number | null
  redeemed: number
}
export type CouponRow = { id: string; code: string; display: string | null; status: CouponStatus }

const POOL = `
  SELECT p.kind, p.status, p.prefix, p.discount, p.starts_at, p.expires_at, p.max_redemptions, n.redeemed
  FROM coupon.pools p JOIN coupon.pool_counts n ON n.pool_id = p.id
  WHERE p.id = $1 AND p.project_id = $2`

const SHARED = 'SELECT id, code, display, status FROM coupon.coupons WHERE pool_id = $1 LIMIT 1'

// Includes the coupons of profiles that were merged into this one. Its own comes first.
const ASSIGNED = `
  SELECT c.id, c.code, c.display, c.status
  FROM coupon.assignments a JOIN coupon.coupons c ON c.id = a.coupon_id
  WHERE a.pool_id = $1
    AND (a.profile_id = $2 OR a.profile_id IN (SELECT id FROM ingest.profiles WHERE merged_into = $2))
  ORDER BY a.profile_id = $2 DESC, a.assigned_at, a.coupon_id LIMIT 1`

// The key of the assignments allows one coupon per profile, also with concurrent requests. The lock of the profile makes
// an erasure wait, and an erased profile gets no coupon.
const assignment = (locked: 'SKIP LOCKED' | '') => `
  WITH known AS (
    SELECT id FROM ingest.profiles WHERE id = $2 FOR KEY SHARE
  ), picked AS (
    SELECT id FROM coupon.coupons WHERE pool_id = $1 AND status = 'available' AND EXISTS (SELECT FROM known)
      AND (held_until IS NULL OR held_until <= ${NOW})
    ORDER BY id NULLS FIRST LIMIT 1 FOR UPDATE ${locked}
  ), claimed AS (
    INSERT INTO coupon.assignments (pool_id, profile_id, coupon_id) SELECT $1, $2, id FROM picked
    ON CONFLICT DO NOTHING RETURNING coupon_id
  )
  UPDATE coupon.coupons c SET status = 'assigned', assigned_profile_id = $2, assigned_at = now()
  FROM claimed WHERE c.id = claimed.coupon_id RETURNING c.id, c.code, c.display, c.status`

const ANY_LEFT = `SELECT 1 FROM coupon.coupons WHERE pool_id = $1 AND status = 'available' LIMIT 1`

export const findPool = async (
  pool: Pool,
  projectId: string,
  poolId: string,
): Promise<PoolRow | undefined> => {
  const { rows } = await pool.query<PoolRow>({
    name: 'pool-to-assign',
    text: POOL,
    values: [poolId, projectId],
  })
  return rows[0]
}

const oneCoupon =
  (name: string, text: string) =>
  async (pool: Pool, ...values: string[]): Promise<CouponRow | undefined> => {
    const { rows } = await pool.query<CouponRow>({ name, text, values })
    return rows[0]
  }

/** The coupon of a shared pool, by `poolId`. */
export const findSharedCoupon = oneCoupon('shared-coupon', SHARED)
/** The coupon that a profile has of a pool, by `poolId` and `profileId`. */
export const findAssignedCoupon = oneCoupon('assigned-coupon', ASSIGNED)
/** Assigns an available coupon that nobody has locked to a profile that has none, by `poolId` and `profileId`. */
export const assignAvailableCoupon = oneCoupon('assign-coupon', assignment('SKIP LOCKED'))
/** The same, but waits for transactions that have locked coupons. */
export const waitForAvailableCoupon = oneCoupon('wait-for-coupon', assignment(''))

/** Whether a pool has an available coupon, also one that another transaction has locked. */
export const hasAvailableCoupon = async (pool: Pool, poolId: string): Promise<boolean> => {
  const { rows } = await pool.query({ name: 'coupons-left', text: ANY_LEFT, values: [poolId] })
  return rows.length > 0
}

/** The cache key of the coupon of a pool that a profile has. */
export const assignedCouponKey = (projectId: string, poolId: string, profileId: string): string =>
  `given-coupon:v1:${projectId}:${poolId}:${profileId}`

// The code of a shared pool is not assigned.
const POOLS_GIVEN_FROM = `
  SELECT p.id AS "poolId", given.id AS "profileId"
  FROM coupon.pools p CROSS JOIN unnest($2::uuid[]) AS given (id)
  WHERE p.project_id = $1 AND (p.kind = 'shared' OR EXISTS (
    SELECT FROM coupon.assignments a WHERE a.pool_id = p.id AND a.profile_id = ANY($2)))`

/** All cache keys that may hold a coupon of a person. */
export const assignedCouponKeys = async (
  { projectId, profileIds }: { projectId: string; profileIds: readonly string[] },
  { db }: { db: Pick<Database, 'pool'> },
): Promise<string[]> => {
  const { rows } = await db.pool.query<{ poolId: string; profileId: string }>(POOLS_GIVEN_FROM, [
    projectId,
    profileIds,
  ])
  return rows.map(({ poolId, profileId }) => assignedCouponKey(projectId, poolId, profileId))
}

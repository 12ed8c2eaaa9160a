import type { CouponStatus } from '@waymark/contracts/coupon'
import type { ClientBase, Pool } from 'pg'

/** A coupon as it is exported. */
export type ExportedCoupon = {
  id: string
  code: string
  display: string | null
  status: CouponStatus
  assigned_profile_id: string | null
  redeemed_at: Date | null
  revoked_at: Date | null
  created_at: Date
  /** Of a gift card, in minor units; 0 for others. */
  balance: number
}

const FIRST = '00000000-0000-0000-0000-000000000000'

// Ids never change, so every coupon is exported once, and no transaction stays open while a client reads.
const READ_AFTER = `
  SELECT c.id, code, display, status, assigned_profile_id, redeemed_at, revoked_at, created_at,
    coalesce(b.balance, 0)::float8 AS balance
  FROM (
    SELECT * FROM coupon.coupons WHERE pool_id = $1 AND id > $2 ORDER BY id NULLS FIRST LIMIT $3
  ) c
  LEFT JOIN coupon.card_balances b ON b.coupon_id = c.id
  ORDER BY c.id`

/** Reads at most `limit` coupons of a pool, those after the coupon with the id `after`. */
export const readCouponsAfter = async (
  pool: Pool,
  poolId: string,
  after: string | undefined,
  limit: number,
): Promise<ExportedCoupon[]> => {
  const { rows } = await pool.query<ExportedCoupon>({
    name: 'export-coupons',
    text: READ_AFTER,
    values: [poolId, after ?? FIRST, limit],
  })
  return rows
}

// Like the generator, an import locks the pool's row before it writes coupons.
const LOCK = `
  SELECT size FROM coupon.pools WHERE id = $1 AND status <> 'archived' FOR NO KEY UPDATE`
const GROW = `
  UPDATE coupon.pools SET size = size + $2, generated = generated + $2, updated_at = now() WHERE id = $1`
const READY = `
  UPDATE coupon.pools SET status = 'ready', updated_at = now()
  WHERE id = $1 AND status IN ('draft', 'failed') AND generated > 0 AND generated = size`

/** Locks a pool until the transaction ends. Resolves to its size; undefined when it was archived. */
export const lockPoolSize = async (client: ClientBase, id: string): Promise<number | undefined> => {
  const { rows } = await client.query<{ size: number }>(LOCK, [id])
  return rows[0]?.size
}

/** Adds imported codes to the size of a pool. */
export const growPool = async (client: ClientBase, id: string, codes: number): Promise<void> => {
  await client.query(GROW, [id, codes])
}

/** Makes a pool ready if it has codes and all of them are generated. */
export const markPoolReady = async (pool: Pool, id: string): Promise<void> => {
  await pool.query(READY, [id])
}

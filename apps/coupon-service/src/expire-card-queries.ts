import type { ClientBase, Pool } from 'pg'

// Only the index of pools with an end, and that of cards with a balance, are read.
const FIND = `
  SELECT p.id AS "poolId", p.project_id AS "projectId", p.card_currency AS currency, left_cards.ids AS "couponIds"
  FROM coupon.pools p
  CROSS JOIN LATERAL (
    SELECT array_agg(coupon_id) AS ids FROM (
      SELECT coupon_id FROM coupon.card_balances WHERE pool_id = p.id AND balance > 0 ORDER BY coupon_id LIMIT $2
    ) AS few
  ) AS left_cards
  WHERE p.kind = 'balance' AND p.expires_at <= $1 AND left_cards.ids IS NOT NULL
  ORDER BY p.expires_at LIMIT 1`
// The lock of the pool keeps its end from being moved meanwhile.
const LOCK_POOL = `SELECT FROM coupon.pools WHERE id = $1 AND expires_at <= $2 FOR NO KEY UPDATE`
const LOCK = `SELECT id FROM coupon.coupons WHERE id = ANY($1::uuid[]) ORDER BY id FOR NO KEY UPDATE`

/** Cards of a pool that have expired with a balance. */
type ExpiredCards = { poolId: string; projectId: string; currency: string; couponIds: string[] }

/** Cards of one pool that expired until `at` with a balance, at most `limit`; undefined when there are none. */
export const findExpiredCards = async (
  db: Pool,
  at: Date,
  limit: number,
): Promise<ExpiredCards | undefined> => {
  const { rows } = await db.query<ExpiredCards>({ name: 'expired-cards', text: FIND, values: [at, limit] })
  return rows[0]
}

/** Locks cards of a pool until the transaction ends, and resolves to their ids; none when it no longer is at its end. */
export const lockExpiredCards = async (
  client: ClientBase,
  { poolId, couponIds }: Pick<ExpiredCards, 'poolId' | 'couponIds'>,
  at: Date,
): Promise<string[]> => {
  const { rowCount } = await client.query({
    name: 'lock-expired-pool',
    text: LOCK_POOL,
    values: [poolId, at],
  })
  if (rowCount === 0) return []
  const { rows } = await client.query<{ id: string }>({
    name: 'lock-expired-cards',
    text: LOCK,
    values: [couponIds],
  })
  return rows.map(({ id }) => id)
}

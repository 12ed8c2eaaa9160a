import { crc32 } from 'node:zlib'
import { DEFAULT_ALPHABET, drawCodes } from '@waymark/domain/coupon'
import { insertCoupons } from '@waymark/pipeline'
import { eventually } from '@waymark/testing'
import { v7 as uuidv7 } from 'uuid'
import type { Fleet } from './fleet.ts'

const SPACE = { alphabet: DEFAULT_ALPHABET, length: 16, prefix: '' }

/**
 * Creates a pool with this many codes, or with this size for the generators to fill. With `cardAmount` they are gift cards
 * with this balance, in cents.
 */
export const createPool = async (
  { db, projectId }: Fleet,
  { size, generate = false, cardAmount }: { size: number; generate?: boolean; cardAmount?: number },
): Promise<{ id: string; codes: string[] }> => {
  const codes = generate ? [] : drawCodes(SPACE, size)
  const { id } = await db.prisma.couponPool.create({
    data: {
      ...SPACE,
      id: uuidv7(),
      projectId,
      name: 'Chaos',
      status: generate ? 'generating' : 'ready',
      size,
      generated: codes.length,
      ...(cardAmount === undefined
        ? { kind: 'unique', discount: { type: 'percent', value: 10 } }
        : { kind: 'balance', discount: { type: 'balance' }, cardAmount, cardCurrency: 'EUR' }),
      count: { create: {} },
    },
  })
  if (codes.length > 0)
    await db.transaction((client) =>
      insertCoupons(
        client,
        { id, projectId },
        codes.map((code) => ({ code, display: null })),
      ),
    )
  return { id, codes }
}

/** The stored rows of a pool. */
export const countPool = async ({ db, projectId }: Fleet, poolId: string) => {
  const { rows } = await db.pool.query<{ [count: string]: string }>(
    `SELECT count(*) AS redemptions, count(DISTINCT coupon_id) AS coupons,
       (SELECT redeemed FROM coupon.pool_counts WHERE pool_id = $1) AS counted,
       (SELECT count(*) FROM coupon.coupons WHERE pool_id = $1 AND status = 'redeemed') AS redeemed,
       (SELECT count(*) FROM ingest.event_ids WHERE project_id = $2 AND name_hash = $3) AS events
     FROM coupon.redemptions WHERE pool_id = $1`,
    [poolId, projectId, crc32('coupon_redeemed') | 0],
  )
  return Object.fromEntries(Object.entries(rows[0] ?? {}).map(([name, count]) => [name, Number(count)]))
}

/** Resolves with the pool's counts once every redemption has become an event. */
export const poolAtRest = (fleet: Fleet, poolId: string, redemptions: number) =>
  eventually('every redemption is an event', async () => {
    const counts = await countPool(fleet, poolId)
    return (counts.events ?? 0) >= redemptions && counts
  })

/** The counters of a pool beside the rows that they count, and codes that are used twice. */
export const countHolds = async ({ db }: Fleet, poolId: string) => {
  const { rows } = await db.pool.query<{ [count: string]: string }>(
    `SELECT n.redeemed, n.held, n.held_amount, n.redeemed + n.held AS used, n.granted + n.held_amount AS amount,
       (SELECT count(*) FROM coupon.redemptions WHERE pool_id = $1) AS redemptions,
       (SELECT count(*) FROM coupon.hold_items WHERE pool_id = $1) AS items,
       (SELECT coalesce(sum(budget_charge), 0) FROM coupon.hold_items WHERE pool_id = $1) AS charges,
       (SELECT count(*) - count(DISTINCT coupon_id) FROM (
          SELECT coupon_id FROM coupon.redemptions WHERE pool_id = $1
          UNION ALL SELECT coupon_id FROM coupon.hold_items WHERE pool_id = $1) AS both_kinds) AS twice
     FROM coupon.pool_counts n WHERE n.pool_id = $1`,
    [poolId],
  )
  return Object.fromEntries(Object.entries(rows[0] ?? {}).map(([name, count]) => [name, Number(count)]))
}

/** What the ledger of a pool of gift cards says, in cents, and how many rows of it contradict each other. */
export const readLedger = async ({ db, projectId }: Fleet, poolId: string) => {
  const { rows } = await db.pool.query<{ [figure: string]: string }>(
    `WITH entries AS (SELECT e.*, m.kind, m.order_id FROM coupon.card_entries e
       JOIN coupon.card_movements m ON m.id = e.movement_id WHERE e.pool_id = $1)
     SELECT (SELECT sum(balance) FROM coupon.card_balances WHERE pool_id = $1) AS balance,
       (SELECT -sum(amount) FROM entries WHERE account = 'issued') AS issued,
       (SELECT coalesce(sum(amount), 0) FROM entries WHERE account = 'spent') AS spent,
       (SELECT count(*) FROM (SELECT FROM entries GROUP BY movement_id HAVING sum(amount) <> 0) AS one) AS unbalanced,
       (SELECT count(*) FROM coupon.card_balances b WHERE pool_id = $1 AND (balance < 0 OR balance <>
         (SELECT sum(amount) FROM entries e WHERE e.coupon_id = b.coupon_id))) AS wrong,
       (SELECT count(*) FROM (SELECT FROM entries WHERE kind = 'spent' AND account = 'card'
         GROUP BY order_id, coupon_id HAVING count(*) > 1) AS one) AS twice,
       (SELECT count(DISTINCT movement_id) FROM entries WHERE kind = 'spent') AS payments,
       (SELECT count(*) FROM ingest.event_ids WHERE project_id = $2 AND name_hash = $3) AS events`,
    [poolId, projectId, crc32('gift_card_spent') | 0],
  )
  return Object.fromEntries(Object.entries(rows[0] ?? {}).map(([name, figure]) => [name, Number(figure)]))
}

/** What gift cards of a pool paid, in cents, by order. */
export const readPaidOrders = async ({ db }: Fleet, poolId: string): Promise<ReadonlyMap<string, number>> => {
  const { rows } = await db.pool.query<{ orderId: string; paid: number }>(
    `SELECT m.order_id AS "orderId", -sum(e.amount)::int AS paid FROM coupon.card_entries e
     JOIN coupon.card_movements m ON m.id = e.movement_id
     WHERE e.pool_id = $1 AND e.account = 'card' AND m.kind = 'spent' GROUP BY m.order_id`,
    [poolId],
  )
  return new Map(rows.map(({ orderId, paid }) => [orderId, paid]))
}

import { crc32 } from 'node:zlib'
import { DEFAULT_ALPHABET, drawCodes } from '@waymark/domain/coupon'
import { insertCoupons } from '@waymark/pipeline'
import { eventually } from '@waymark/testing'
import { v7 as uuidv7 } from 'uuid'
import type { Fleet } from './fleet.ts'

const SPACE = { alphabet: DEFAULT_ALPHABET, length: 16, prefix: '' }

/** Creates a pool with this many codes, or with this size for the generators to fill. */
export const createPool = async (
  { db, projectId }: Fleet,
  { size, generate = false }: { size: number; generate?: boolean },
): Promise<{ id: string; codes: string[] }> => {
  const codes = generate ? [] : drawCodes(SPACE, size)
  const { id } = await db.prisma.couponPool.create({
    data: {
      ...SPACE,
      id: uuidv7(),
      projectId,
      name: 'Chaos',
      kind: 'unique',
      status: generate ? 'generating' : 'ready',
      size,
      generated: codes.length,
      discount: { type: 'percent', value: 10 },
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

import { setImmediate } from 'node:timers/promises'
import type { Log } from '@waymark/contracts'
import type { Database } from '@waymark/database'
import { drawCodes } from '@waymark/domain'
import { insertCoupons } from '@waymark/pipeline'
import type { ClientBase } from 'pg'

type Pool = {
  id: string
  projectId: string
  prefix: string
  alphabet: string
  length: number
  /** Codes that are left to generate. */
  missing: number
}

const CHUNK = 10_000
/** Draws without a new code after which the codes of a pool count as exhausted. */
const MAX_FRUITLESS_DRAWS = 10

// The smallest remainder first, so that small pools do not wait for large ones. One worker per pool.
const NEXT = `
  SELECT id, project_id AS "projectId", prefix, alphabet, length, size - generated AS missing FROM coupon.pools
  WHERE generated < size AND status IN ('generating', 'ready')
  ORDER BY size - generated, id LIMIT 1 FOR NO KEY UPDATE SKIP LOCKED`

const ADVANCE = `
  UPDATE coupon.pools SET generated = generated + $2, updated_at = now(),
    status = CASE WHEN generated + $2 = size THEN 'ready' ELSE status END
  WHERE id = $1`

// A ready pool stays ready with the codes that it has.
const FAIL = `
  UPDATE coupon.pools SET status = CASE status WHEN 'generating' THEN 'failed' ELSE status END, size = generated,
    failure = $2, updated_at = now()
  WHERE id = $1`

const EXHAUSTED =
  'No new code could be drawn: alphabet and length leave too few. Create a pool with longer codes.'

/**
 * Generates the next chunk of codes of one pool and updates its count in the same transaction, so that a crash loses
 * nothing. Resolves to the number of pools found, 0 or 1.
 */
export const createGenerateCodes =
  ({ db, log }: { db: Database; log: Log }) =>
  (): Promise<0 | 1> =>
    db.transaction(async (client) => {
      const { rows } = await client.query<Pool>({ name: 'next-pool', text: NEXT })
      const [pool] = rows
      if (!pool) return 0
      const inserted = await insertNew(client, pool)
      if (inserted === 0) {
        log.error({ projectId: pool.projectId, poolId: pool.id }, 'Coupon pool has no codes left to generate')
        await client.query({ name: 'fail-pool', text: FAIL, values: [pool.id, EXHAUSTED] })
      } else await client.query({ name: 'advance-pool', text: ADVANCE, values: [pool.id, inserted] })
      return 1
    })

const insertNew = async (client: ClientBase, pool: Pool): Promise<number> => {
  const wanted = Math.min(CHUNK, pool.missing)
  for (let draw = 0; draw < MAX_FRUITLESS_DRAWS; draw++) {
    const codes = drawCodes(pool, wanted).map((code) => ({ code, display: null }))
    // Drawing and sending take milliseconds each, so requests run in between.
    await setImmediate()
    const { length: inserted } = await insertCoupons(client, pool, codes)
    if (inserted > 0) return inserted
  }
  return 0
}

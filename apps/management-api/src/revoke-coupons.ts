import type { Revocation } from '@waymark/contracts'
import type { Database } from '@waymark/database'
import { normalizeCodePrefix } from '@waymark/domain'
import { unprocessable } from './validation.ts'

const CHUNK = 10_000
const AFTER_ANY = '~'

// One that is being redeemed is waited for, and left alone when it was.
const revoke = (condition: string) => `
  WITH chosen AS (
    SELECT id FROM coupon.coupons WHERE project_id = $1 AND ${condition} ORDER BY id NULLS FIRST LIMIT ${CHUNK} FOR NO KEY UPDATE
  )
  UPDATE coupon.coupons c SET status = 'revoked', revoked_at = now() FROM chosen
  WHERE c.id = chosen.id AND c.status IN ('available', 'assigned')`

/**
 * Revokes coupons that were not redeemed, some thousands in a transaction, and answers how many.
 * @throws AppError unprocessable unless coupons or a pool are named
 */
export const revokeCoupons = async (
  { pool }: Pick<Database, 'pool'>,
  projectId: string,
  { ids, poolId, status, q }: Revocation,
): Promise<number> => {
  if (ids !== undefined) {
    if (poolId ?? status ?? q)
      throw unprocessable('ids', 'exclusive', 'cannot be combined with other filters')
    const { rowCount } = await pool.query(revoke('id = ANY($2::uuid[])'), [projectId, ids])
    return rowCount ?? 0
  }
  if (poolId === undefined) throw unprocessable('ids', 'required', 'or poolId is required')
  const prefix = normalizeCodePrefix(q ?? '')
  if (prefix === undefined) return 0

  let revoked = 0
  for (const wanted of status === undefined ? ['available', 'assigned'] : [status]) {
    for (let changed = CHUNK; changed === CHUNK; ) {
      const { rowCount } = await pool.query(
        revoke('pool_id = $2 AND status = $3 AND code >= $4 AND code < $5'),
        [projectId, poolId, wanted, prefix, `${prefix}${AFTER_ANY}`],
      )
      changed = rowCount ?? 0
      revoked += changed
    }
  }
  return revoked
}

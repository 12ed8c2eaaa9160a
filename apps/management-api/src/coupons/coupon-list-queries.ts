import type { CouponStatus } from '@waymark/contracts/coupon'
import { CouponView } from '@waymark/contracts/http/coupon-views'
import type { CouponQuery, Revocation } from '@waymark/contracts/http/coupons'
import { pick } from '@waymark/contracts/http/pick'
import { type Database, NOW, type Prisma } from '@waymark/database'
import { displayCode, normalizeCode, normalizeCodePrefix } from '@waymark/domain/coupon'
import type { Pool } from 'pg'
import { decodeCursor, encodeCursor, unusableCursor } from '../http/page.ts'
import { UUID, unprocessable } from '../http/validation.ts'

type Row = {
  id: string
  poolId: string
  code: string
  display: string | null
  status: CouponStatus
  assignedProfileId: string | null
  assignedAt: Date | null
  redeemedAt: Date | null
  revokedAt: Date | null
  heldUntil: Date | null
  balance: { amount: number; currency: string } | null
  createdAt: Date
  prefix: string
}
type CouponPage = { data: ReturnType<typeof viewCoupon>[]; nextCursor: string | null }

const COLUMNS = `
  c.id, c.pool_id AS "poolId", c.code, c.display, c.status, c.assigned_profile_id AS "assignedProfileId",
  c.assigned_at AS "assignedAt", c.redeemed_at AS "redeemedAt", c.revoked_at AS "revokedAt", c.created_at AS "createdAt",
  CASE WHEN c.held_until > ${NOW} THEN c.held_until END AS "heldUntil",
  CASE WHEN p.kind = 'balance' THEN json_build_object('currency', p.card_currency, 'amount',
    coalesce((SELECT balance FROM coupon.card_balances WHERE coupon_id = c.id), 0)) END AS balance, p.prefix`

/** Sorts after every character of a code, in byte order. */
const AFTER_ANY = '~'

/**
 * A page of a project's coupons: newest first, or with `q` in the order of codes. An index reads each pool only as far
 * as the page goes, so the time does not depend on the number of coupons.
 * @throws AppError unprocessable when the cursor is not usable
 */
export const listCoupons = async (db: Pool, projectId: string, query: CouponQuery): Promise<CouponPage> => {
  const { limit, q } = query
  const { text, values } = q === undefined ? byAge(projectId, query) : byCode(projectId, query, q)
  const { rows } = await db.query<Row>({ text, values })
  const page = rows.slice(0, limit)
  const last = page.at(-1)
  const nextCursor = rows.length > limit && last ? encodeCursor(q === undefined ? last.id : last.code) : null
  return { data: page.map(viewCoupon), nextCursor }
}

const viewCoupon = (row: Row) => ({ ...pick(row, CouponView), code: displayCode(row, row.prefix) })

type Statement = { text: string; values: unknown[] }

const byAge = (projectId: string, { limit, cursor, poolId, status }: CouponQuery): Statement => {
  const values: unknown[] = [projectId, limit + 1]
  const parameter = (value: unknown) => `$${values.push(value)}`
  const before = cursor === undefined ? undefined : decodeCursor(cursor)
  if (before !== undefined && !UUID.test(before)) throw unusableCursor()
  const conditions = [
    'pool_id = p.id',
    ...(status === undefined ? [] : [`status = ${parameter(status)}`]),
    ...(before === undefined ? [] : [`id < ${parameter(before)}`]),
  ]
  const ofPool = poolId === undefined ? '' : ` AND p.id = ${parameter(poolId)}`
  const text = `
    SELECT ${COLUMNS} FROM coupon.pools p
    CROSS JOIN LATERAL (
      SELECT * FROM coupon.coupons WHERE ${conditions.join(' AND ')} ORDER BY id DESC NULLS LAST LIMIT $2
    ) c
    WHERE p.project_id = $1${ofPool} ORDER BY c.id DESC LIMIT $2`
  return { text, values }
}

const byCode = (projectId: string, { limit, cursor, poolId, status }: CouponQuery, q: string): Statement => {
  const prefix = normalizeCodePrefix(q)
  const after = cursor === undefined ? undefined : decodeCursor(cursor)
  if (after !== undefined && normalizeCode(after) !== after) throw unusableCursor()
  // A prefix that no code can have matches none.
  const values: unknown[] = [projectId, limit + 1, prefix ?? AFTER_ANY, `${prefix ?? ''}${AFTER_ANY}`]
  const parameter = (value: unknown) => `$${values.push(value)}`
  const conditions = [
    'c.project_id = $1 AND c.code >= $3 AND c.code < $4',
    ...(after === undefined ? [] : [`c.code > ${parameter(after)}`]),
    ...(status === undefined ? [] : [`c.status = ${parameter(status)}`]),
    ...(poolId === undefined ? [] : [`c.pool_id = ${parameter(poolId)}`]),
  ]
  const text = `
    SELECT ${COLUMNS} FROM coupon.coupons c JOIN coupon.pools p ON p.id = c.pool_id
    WHERE ${conditions.join(' AND ')} ORDER BY c.code LIMIT $2`
  return { text, values }
}

const CODES = `
  SELECT c.id, c.code, c.display, p.prefix FROM coupon.coupons c JOIN coupon.pools p ON p.id = c.pool_id
  WHERE c.id = ANY($1::uuid[])`

/** The displayed codes of coupons, by their ids. */
export const readCodes = async (pool: Pool, couponIds: readonly string[]): Promise<Map<string, string>> => {
  const { rows } = await pool.query<Pick<Row, 'id' | 'code' | 'display' | 'prefix'>>(CODES, [couponIds])
  return new Map(rows.map((row) => [row.id, displayCode(row, row.prefix)]))
}

const CHUNK = 10_000

// Waits for a coupon that is being redeemed, and then leaves it unchanged.
const revoke = (condition: string) => `
  WITH chosen AS (
    SELECT id FROM coupon.coupons WHERE project_id = $1 AND ${condition} ORDER BY id NULLS FIRST LIMIT ${CHUNK} FOR NO KEY UPDATE
  )
  UPDATE coupon.coupons c SET status = 'revoked', revoked_at = now() FROM chosen
  WHERE c.id = chosen.id AND c.status IN ('available', 'assigned')`

/** Revokes a coupon that the transaction has locked. */
export const revokeCoupon = async (
  tx: Pick<Prisma.TransactionClient, '$executeRaw'>,
  id: string,
): Promise<void> => {
  await tx.$executeRaw`UPDATE coupon.coupons SET status = 'revoked', revoked_at = now() WHERE id = ${id}::uuid`
}

/**
 * Revokes coupons that are not redeemed, at most `CHUNK` per statement, and resolves to how many.
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

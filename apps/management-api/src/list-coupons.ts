import type { CouponQuery, CouponStatus } from '@waymark/contracts'
import { displayCode, normalizeCode, normalizeCodePrefix } from '@waymark/domain'
import type { Pool } from 'pg'
import { UUID, unprocessable } from './validation.ts'

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
  createdAt: Date
  prefix: string
}
export type CouponPage = { data: ReturnType<typeof viewCoupon>[]; nextCursor: string | null }

const COLUMNS = `
  c.id, c.pool_id AS "poolId", c.code, c.display, c.status, c.assigned_profile_id AS "assignedProfileId",
  c.assigned_at AS "assignedAt", c.redeemed_at AS "redeemedAt", c.revoked_at AS "revokedAt", c.created_at AS "createdAt",
  p.prefix`

/** Greater than every character of a code, in the order of bytes. */
const AFTER_ANY = '~'

/**
 * A page of a project's coupons: the newest first, or with `q` in the order of codes. Each pool is read by an index of
 * its own only as far as the page goes, so that a million coupons take no longer than a hundred.
 * @throws AppError unprocessable when the cursor is not usable
 */
export const listCoupons = async (db: Pool, projectId: string, query: CouponQuery): Promise<CouponPage> => {
  const { limit, q } = query
  const { text, values } = q === undefined ? byAge(projectId, query) : byCode(projectId, query, q)
  const { rows } = await db.query<Row>({ text, values })
  const page = rows.slice(0, limit)
  const last = page.at(-1)
  const nextCursor =
    rows.length > limit && last
      ? Buffer.from(q === undefined ? last.id : last.code).toString('base64url')
      : null
  return { data: page.map(viewCoupon), nextCursor }
}

/** A coupon as it is shown. */
export const viewCoupon = ({ display, prefix, ...coupon }: Row) => ({
  ...coupon,
  code: displayCode({ code: coupon.code, display }, prefix),
})

type Statement = { text: string; values: unknown[] }

const byAge = (projectId: string, { limit, cursor, poolId, status }: CouponQuery): Statement => {
  const values: unknown[] = [projectId, limit + 1]
  const parameter = (value: unknown) => `$${values.push(value)}`
  const before = cursor === undefined ? undefined : cursorText(cursor)
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
  const after = cursor === undefined ? undefined : cursorText(cursor)
  if (after !== undefined && normalizeCode(after) !== after) throw unusableCursor()
  // What no code begins with matches none.
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

const cursorText = (cursor: string): string => Buffer.from(cursor, 'base64url').toString('latin1')
const unusableCursor = () => unprocessable('cursor', 'format', 'is not a cursor of this list')

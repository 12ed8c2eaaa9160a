import type { CouponStatus } from '@waymark/contracts'
import { displayCode } from '@waymark/domain'
import type { Pool } from 'pg'

const CHUNK = 5_000
const NONE = '00000000-0000-0000-0000-000000000000'
const HEADER = 'code,status,assignedProfileId,redeemedAt,revokedAt,createdAt\n'

// By id, which never changes: every coupon comes once, whatever happens to it meanwhile, and no transaction is held
// open for as long as a client takes to read.
const NEXT = `
  SELECT id, code, display, status, assigned_profile_id, redeemed_at, revoked_at, created_at FROM coupon.coupons
  WHERE pool_id = $1 AND id > $2 ORDER BY id NULLS FIRST LIMIT ${CHUNK}`

type Row = {
  id: string
  code: string
  display: string | null
  status: CouponStatus
  assigned_profile_id: string | null
  redeemed_at: Date | null
  revoked_at: Date | null
  created_at: Date
}

/** All coupons of a pool as CSV, some thousands at a time and each when the one before was taken. */
export async function* exportCodes(
  db: Pool,
  { id: poolId, prefix }: { id: string; prefix: string },
): AsyncGenerator<string> {
  yield HEADER
  for (let last = NONE; ; ) {
    const { rows } = await db.query<Row>({ name: 'export-coupons', text: NEXT, values: [poolId, last] })
    if (rows.length > 0) yield rows.map((row) => lineOf(row, prefix)).join('')
    const end = rows.at(-1)
    if (!end || rows.length < CHUNK) return
    last = end.id
  }
}

const lineOf = (row: Row, prefix: string): string => {
  const times = [row.redeemed_at, row.revoked_at, row.created_at].map((time) => time?.toISOString() ?? '')
  return `${[displayCode(row, prefix), row.status, row.assigned_profile_id ?? '', ...times].map(quoted).join(',')}\n`
}

/** A field of RFC 4180. */
const quoted = (field: string): string =>
  /[",\r\n]/.test(field) ? `"${field.replaceAll('"', '""')}"` : field

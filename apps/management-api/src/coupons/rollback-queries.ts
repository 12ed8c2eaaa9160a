import { couponsRedeemed, type Discount } from '@waymark/contracts'
import type { Database } from '@waymark/database'
import { displayCode } from '@waymark/domain'
import { addToOutbox } from '@waymark/pipeline'
import type { ClientBase } from 'pg'
import { writeTransaction } from '../http/write-transaction.ts'

/** A redemption to roll back. */
type Rollback = { projectId: string; id: string; reason: string | null; at: Date }

/** The outbox lane of redemptions, which keeps their order. */
const LANE = 'coupons'

// The second of two concurrent rollbacks changes nothing.
const MARK = `
  UPDATE coupon.redemptions SET rolled_back_at = $3, rollback_reason = $4
  WHERE id = $1 AND project_id = $2 AND rolled_back_at IS NULL
  RETURNING pool_id, coupon_id, profile_id, visitor_id, user_id, order_id, amount::float8 AS amount, currency, metadata,
    event_id`
// A shared coupon is always available, and a revoked one stays revoked. A coupon whose owner was erased stays assigned.
const RESTORE = `
  UPDATE coupon.coupons SET redeemed_at = NULL,
    status = CASE WHEN assigned_at IS NULL THEN 'available' ELSE 'assigned' END
  WHERE id = $1 AND status = 'redeemed'`
const UNCOUNT_PROFILE = `
  UPDATE coupon.profile_counts SET redeemed = redeemed - 1 WHERE pool_id = $1 AND redeemed > 0 AND profile_id = $2`
const MERGED_INTO = 'SELECT merged_into FROM ingest.profiles WHERE id = $1 AND merged_into IS NOT NULL'
const UNCOUNT_POOL = 'UPDATE coupon.pool_counts SET redeemed = redeemed - 1 WHERE pool_id = $1'
const COUPON = `
  SELECT c.code, c.display, p.prefix, p.discount FROM coupon.coupons c JOIN coupon.pools p ON p.id = c.pool_id
  WHERE c.id = $1`

type Row = {
  pool_id: string
  coupon_id: string
  profile_id: string | null
  visitor_id: string | null
  user_id: string | null
  order_id: string | null
  amount: number | null
  currency: string | null
  metadata: Record<string, unknown>
  event_id: string
}
type CouponRow = { code: string; display: string | null; prefix: string; discount: Discount }

/**
 * Rolls a redemption back, once: restores the coupon and the counts and publishes the rollback. The redemption stays as
 * history. Locks in the order of a redemption: coupon, profile, pool.
 * @returns whether this call rolled it back
 */
export const rollBackRedemption = (
  db: Pick<Database, 'transaction'>,
  { projectId, id, reason, at }: Rollback,
): Promise<boolean> =>
  writeTransaction(db, async (client) => {
    const marked = await client.query<Row>(MARK, [id, projectId, at, reason])
    const [made] = marked.rows
    if (!made) return false
    await client.query(RESTORE, [made.coupon_id])
    if (made.profile_id !== null) await uncountProfile(client, made.pool_id, made.profile_id)
    await publish(client, { projectId, id, at }, made)
    await client.query(UNCOUNT_POOL, [made.pool_id])
    return true
  })

/** The count may have moved to the profile that this one was merged into. */
const uncountProfile = async (client: ClientBase, poolId: string, profileId: string): Promise<void> => {
  const { rowCount } = await client.query(UNCOUNT_PROFILE, [poolId, profileId])
  if (rowCount === 1) return
  const { rows } = await client.query<{ merged_into: string }>(MERGED_INTO, [profileId])
  const [living] = rows
  if (living) await client.query(UNCOUNT_PROFILE, [poolId, living.merged_into])
}

const publish = async (
  client: ClientBase,
  { projectId, id, at }: Omit<Rollback, 'reason'>,
  made: Row,
): Promise<void> => {
  const { rows } = await client.query<CouponRow>(COUPON, [made.coupon_id])
  const [coupon] = rows
  if (!coupon) throw new Error(`the coupon ${made.coupon_id} of a redemption is gone`)
  await addToOutbox(client, LANE, couponsRedeemed, [
    {
      key: `${projectId}:${made.coupon_id}`,
      value: {
        v: 1,
        kind: 'rolled_back',
        projectId,
        redemptionId: id,
        couponId: made.coupon_id,
        poolId: made.pool_id,
        code: displayCode(coupon, coupon.prefix),
        discount: coupon.discount,
        profileId: made.profile_id,
        visitorId: made.visitor_id,
        userId: made.user_id,
        orderId: made.order_id,
        amount: made.amount,
        currency: made.currency,
        metadata: made.metadata,
        eventId: made.event_id,
        at: at.toISOString(),
      },
    },
  ])
}

import type { Discount, GrantedItem } from '@waymark/contracts/http/coupon-views'
import type { CouponRedemptionRecord } from '@waymark/contracts/records/coupon-redemption'
import { couponsRedeemed } from '@waymark/contracts/topics'
import type { Database } from '@waymark/database'
import { displayCode, returnedDiscount } from '@waymark/domain/coupon'
import { addToOutbox, lockOrderId, reverseOrder } from '@waymark/pipeline'
import type { ClientBase } from 'pg'
import { unprocessable } from '../http/validation.ts'
import { writeTransaction } from '../http/write-transaction.ts'

/** A redemption to roll back. */
type Rollback = { projectId: string; id: string; reason: string | null; at: Date }

/** The outbox lane of redemptions, which keeps their order. */
const LANE = 'coupons'

// The second of two concurrent rollbacks changes nothing.
const COLUMNS = `pool_id, coupon_id, profile_id, visitor_id, user_id, order_id, amount::float8 AS amount, currency,
  metadata, event_id, discount_amount::float8 AS discount_amount,
  shipping_discount_amount::float8 AS shipping_discount_amount, rolled_back_amount::float8 AS rolled_back_amount,
  budget_charge::float8 AS budget_charge`
// `budget_charge` stays as what this rollback returns.
const MARK = `
  UPDATE coupon.redemptions SET rolled_back_at = $3, rollback_reason = $4,
    rolled_back_amount = coalesce(discount_amount, 0)
  WHERE id = $1 AND project_id = $2 AND rolled_back_at IS NULL
  RETURNING ${COLUMNS}`
const LOCK = `
  SELECT ${COLUMNS}, items, rolled_back_at FROM coupon.redemptions WHERE id = $1 AND project_id = $2 FOR NO KEY UPDATE`
const MARK_PART = `
  UPDATE coupon.redemptions SET rollback_reason = coalesce($2, rollback_reason), rolled_back_amount = $3,
    budget_charge = budget_charge - $4
  WHERE id = $1`
const RETURN_TO_BUDGET = 'UPDATE coupon.pool_counts SET granted = granted - $2 WHERE pool_id = $1'
// A shared coupon is always available, and a revoked one stays revoked. A coupon whose owner was erased stays assigned.
const RESTORE = `
  UPDATE coupon.coupons SET redeemed_at = NULL,
    status = CASE WHEN assigned_at IS NULL THEN 'available' ELSE 'assigned' END
  WHERE id = $1 AND status = 'redeemed'`
const UNCOUNT_PROFILE = `
  UPDATE coupon.profile_counts SET redeemed = redeemed - 1 WHERE pool_id = $1 AND redeemed > 0 AND profile_id = $2`
const MERGED_INTO = 'SELECT merged_into FROM ingest.profiles WHERE id = $1 AND merged_into IS NOT NULL'
const UNCOUNT_POOL =
  'UPDATE coupon.pool_counts SET redeemed = redeemed - 1, granted = granted - $2 WHERE pool_id = $1'
const COUPON = `
  SELECT c.code, c.display, p.prefix, p.discount FROM coupon.pools p
  LEFT JOIN coupon.coupons c ON c.id = $2 AND c.pool_id = p.id WHERE p.id = $1`

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
  discount_amount: number | null
  shipping_discount_amount: number | null
  rolled_back_amount: number
  budget_charge: number | null
}
/** The code is null of an automatic promotion. */
type CouponRow = { code: string | null; display: string | null; prefix: string; discount: Discount }

/**
 * Rolls a redemption back, once: restores the coupon and the counts and publishes the rollback. The redemption stays as
 * history. With `orderId` the points of the order are reversed as well. Locks in the order of a redemption: order, coupon,
 * profile, accounts of points, pool.
 * @returns whether this call rolled it back
 */
export const rollBackRedemption = (
  db: Pick<Database, 'transaction'>,
  { projectId, id, reason, at }: Rollback,
  orderId: string | null = null,
): Promise<boolean> =>
  writeTransaction(db, async (client) => {
    if (orderId !== null) await lockOrderId(client, projectId, orderId)
    const reversePoints = async () => {
      if (orderId !== null) await reverseOrder(client, { projectId, orderId, reason, at })
    }
    const marked = await client.query<Row>(MARK, [id, projectId, at, reason])
    const [made] = marked.rows
    if (!made) {
      await reversePoints()
      return false
    }
    await client.query(RESTORE, [made.coupon_id])
    if (made.profile_id !== null) await uncountProfile(client, made.pool_id, made.profile_id)
    await reversePoints()
    await publish(client, { projectId, id, at }, made, 'rolled_back')
    await client.query(UNCOUNT_POOL, [made.pool_id, made.budget_charge ?? 0])
    return true
  })

/** What is rolled back in all: an amount, or the discounts of returned units by SKU. */
type Part = { amount: number } | { items: readonly { sku: string; quantity: number }[] }

/**
 * Rolls a part of a discount back: it returns to the budget, and the coupon stays redeemed. The part is a total, so that a
 * repeat changes nothing.
 * @throws AppError unprocessable when the redemption has no such part, or more was rolled back before
 */
export const rollBackPart = (
  db: Pick<Database, 'transaction'>,
  { projectId, id, reason, at }: Rollback,
  part: Part,
): Promise<void> =>
  writeTransaction(db, async (client) => {
    const { rows } = await client.query<LockedRow>(LOCK, [id, projectId])
    const [made] = rows
    const field = 'amount' in part ? 'amount' : 'items'
    if (!made || made.rolled_back_at !== null)
      throw unprocessable(field, 'rolled_back', 'cannot be rolled back: the whole redemption was')
    const total = totalOf(made, part)
    const before = made.rolled_back_amount
    if (total < before)
      throw unprocessable(
        field,
        'minimum',
        `must amount to at least ${before}, which was rolled back before`,
        total,
      )
    if (total === before) return
    // A redemption from before there was a budget takes nothing from it.
    const returned = made.budget_charge === null ? 0 : total - before
    await client.query(MARK_PART, [id, reason, total, returned])
    await publish(
      client,
      { projectId, id, at },
      { ...made, rolled_back_amount: total },
      'partially_rolled_back',
    )
    await client.query(RETURN_TO_BUDGET, [made.pool_id, returned])
  })

type LockedRow = Row & { items: GrantedItem[] | null; rolled_back_at: Date | null }

const totalOf = ({ discount_amount, items }: LockedRow, part: Part): number => {
  if ('amount' in part) {
    const most = discount_amount ?? 0
    if (part.amount <= most) return part.amount
    throw unprocessable('amount', 'maximum', `must be at most the discount of ${most}`, part.amount)
  }
  if (items === null)
    throw unprocessable('items', 'unknown', 'are not stored with this redemption: use amount')
  const skus = new Set<string>()
  for (const [index, { sku, quantity }] of part.items.entries()) {
    const bought = items.reduce((sum, item) => (item.sku === sku ? sum + item.quantity : sum), 0)
    if (skus.has(sku)) throw unprocessable(`items.${index}.sku`, 'unique', 'occurs twice', sku)
    skus.add(sku)
    if (quantity > bought)
      throw unprocessable(
        `items.${index}.quantity`,
        'maximum',
        `must be at most ${bought} for ${sku}`,
        quantity,
      )
  }
  return returnedDiscount(items, part.items)
}

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
  kind: CouponRedemptionRecord['kind'],
): Promise<void> => {
  const { rows } = await client.query<CouponRow>(COUPON, [made.pool_id, made.coupon_id])
  const [coupon] = rows
  if (!coupon) throw new Error(`the pool ${made.pool_id} of a redemption is gone`)
  const { code, display, prefix, discount } = coupon
  await addToOutbox(client, LANE, couponsRedeemed, [
    {
      key: `${projectId}:${made.coupon_id}`,
      value: {
        v: 1,
        kind,
        projectId,
        redemptionId: id,
        couponId: made.coupon_id,
        poolId: made.pool_id,
        code: code === null ? null : displayCode({ code, display }, prefix),
        discount,
        profileId: made.profile_id,
        visitorId: made.visitor_id,
        userId: made.user_id,
        orderId: made.order_id,
        amount: made.amount,
        currency: made.currency,
        metadata: made.metadata,
        eventId: made.event_id,
        at: at.toISOString(),
        ...amountsOf(made),
      },
    },
  ])
}

/** The amounts of a redemption for a cart. */
const amountsOf = ({ discount_amount, shipping_discount_amount, rolled_back_amount }: Row) =>
  discount_amount === null
    ? {}
    : {
        discountAmount: discount_amount,
        shippingDiscountAmount: shipping_discount_amount ?? 0,
        rolledBackAmount: rolled_back_amount,
      }

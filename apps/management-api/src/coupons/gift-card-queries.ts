import type { CardMovementKind } from '@waymark/contracts/coupon'
import type { CardMovementView, MovementQuery } from '@waymark/contracts/http/gift-cards'
import type { CouponState } from '@waymark/domain/coupon'
import { readBalances } from '@waymark/pipeline'
import type { ClientBase, Pool } from 'pg'

/** A gift card whose row the transaction has locked. `balance` in minor units. */
export type LockedCard = CouponState & { id: string; poolId: string; currency: string; balance: number }

const LOCK = `
  SELECT c.id, c.status, c.held_until AS "heldUntil", p.id AS "poolId", p.card_currency AS currency, p.kind,
    p.status AS "poolStatus", p.starts_at AS "startsAt", p.expires_at AS "expiresAt"
  FROM coupon.coupons c JOIN coupon.pools p ON p.id = c.pool_id
  WHERE c.project_id = $1 AND c.id = ANY($2::uuid[]) AND p.kind = 'balance'
  ORDER BY c.id FOR NO KEY UPDATE OF c`

type LockedRow = Pick<LockedCard, 'id' | 'status' | 'poolId' | 'currency'> &
  Pick<CouponState['pool'], 'kind' | 'startsAt' | 'expiresAt'> & {
    heldUntil: Date | null
    poolStatus: CouponState['pool']['status']
  }

/** Locks gift cards of a project until the transaction ends, in the order of their ids, as every movement does. */
export const lockCards = async (
  client: ClientBase,
  projectId: string,
  ids: readonly string[],
): Promise<ReadonlyMap<string, LockedCard>> => {
  const { rows } = await client.query<LockedRow>({ name: 'lock-cards', text: LOCK, values: [projectId, ids] })
  const balances = await readBalances(
    client,
    rows.map(({ id }) => id),
  )
  return new Map(
    rows.map(({ id, status, heldUntil, poolId, currency, poolStatus, kind, startsAt, expiresAt }) => [
      id,
      {
        id,
        status,
        heldUntil,
        poolId,
        currency,
        balance: balances.get(id) ?? 0,
        pool: { kind, status: poolStatus, startsAt, expiresAt, maxRedemptions: null, redeemed: 0 },
      },
    ]),
  )
}

const CARD_BY_CODE = `
  SELECT c.id FROM coupon.coupons c JOIN coupon.pools p ON p.id = c.pool_id
  WHERE c.project_id = $1 AND c.code = $2 AND p.kind = 'balance'`

/** The id of a gift card by its normalized code. */
export const findCardByCode = async (
  db: Pool,
  projectId: string,
  code: string,
): Promise<string | undefined> => {
  const { rows } = await db.query<{ id: string }>(CARD_BY_CODE, [projectId, code])
  return rows[0]?.id
}

type MovementRow = Omit<CardMovementView, 'createdAt'> & { kind: CardMovementKind; createdAt: Date }

/** A page of the movements of a card, of a pool or of a project, the newest first: at most `take` with ids below `before`. */
export const listMovements = async (
  db: Pool,
  projectId: string,
  { couponId, poolId, orderId }: Pick<MovementQuery, 'couponId' | 'poolId' | 'orderId'>,
  { before, take }: { before: string | undefined; take: number },
): Promise<MovementRow[]> => {
  const values: unknown[] = [projectId, take]
  const parameter = (value: unknown) => `$${values.push(value)}`
  const older = before === undefined ? undefined : parameter(before)
  const seen: string[] = []
  const conditions = ['m.project_id = $1']
  if (older !== undefined) conditions.push(`m.id < ${older}::uuid`)
  if (orderId !== undefined) conditions.push(`m.order_id = ${parameter(orderId)}`)
  const among = (condition: string) => {
    const page = older === undefined ? '' : ` AND movement_id < ${older}::uuid`
    conditions.push(`m.id IN (SELECT movement_id FROM coupon.card_entries WHERE ${condition}${page})`)
  }
  if (couponId !== undefined) {
    const id = parameter(couponId)
    among(`coupon_id = ${id}::uuid`)
    seen.push(`e.coupon_id = ${id}::uuid`)
  }
  if (poolId !== undefined) {
    const id = parameter(poolId)
    // The first entries of a movement are of all its pools.
    among(`pool_id = ${id}::uuid AND line <= 2`)
    seen.push(`e.pool_id = ${id}::uuid`)
  }
  const text = `
    SELECT m.id, m.kind, seen."poolId", seen."couponId", seen.amount, seen.currency, seen.cards, m.order_id AS "orderId",
      m.profile_id AS "profileId", m.visitor_id AS "visitorId", m.user_id AS "userId", m.reason, m.created_at AS "createdAt"
    FROM coupon.card_movements m
    CROSS JOIN LATERAL (
      SELECT min(e.currency) AS currency, count(*)::int AS cards, (array_agg(e.pool_id ORDER BY e.amount))[1] AS "poolId",
        CASE WHEN count(*) <= 2 THEN (array_agg(e.coupon_id ORDER BY e.amount))[1] END AS "couponId",
        coalesce(nullif(sum(e.amount), 0), sum(abs(e.amount)) / 2)::float8 AS amount
      FROM coupon.card_entries e
      WHERE ${['e.movement_id = m.id', "e.account = 'card'", ...seen].join(' AND ')}
    ) AS seen
    WHERE ${conditions.join(' AND ')} AND seen.cards > 0 ORDER BY m.id DESC LIMIT $2`
  return (await db.query<MovementRow>(text, values)).rows
}

const LEDGER = `
  SELECT account, sum(amount)::float8 AS amount FROM coupon.card_entries WHERE pool_id = $1 GROUP BY account`

/** The sums of the accounts of a pool, in minor units. */
export const readLedger = async (db: Pool, poolId: string): Promise<ReadonlyMap<string, number>> => {
  const { rows } = await db.query<{ account: string; amount: number }>(LEDGER, [poolId])
  return new Map(rows.map(({ account, amount }) => [account, amount]))
}

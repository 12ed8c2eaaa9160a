import type { CardMovementKind } from '@waymark/contracts/coupon'
import type { CardMovementRecord } from '@waymark/contracts/records/card-movement'
import { cardMovements } from '@waymark/contracts/topics'
import { bulkColumns } from '@waymark/database'
import type { ClientBase, Pool } from 'pg'
import { v7 as uuidv7 } from 'uuid'
import { outboxStatement } from '../outbox/index.ts'

/** The outbox lane of movements, which keeps their order. */
const LANE = 'coupons'

/** An entry of a movement, in minor units: on the account of a card, or on one that the cards of its pool share. */
type Entry = {
  account: 'card' | 'issued' | 'spent' | 'breakage'
  poolId: string
  couponId?: string
  amount: number
}

/** A gift card as a movement changes it. */
export type LedgerCard = { id: string; poolId: string; currency: string }

type Person = { profileId: string | null; visitorId: string | null; userId: string | null }

/** What is stored and published of a movement. */
export type Movement = {
  id: string
  projectId: string
  kind: CardMovementKind
  orderId?: string | null
  person?: Person
  reason?: string | null
  /** Hashes of the client's key and its request. */
  key?: { keyHash: string; requestHash: string }
  at: Date
}

const columns = bulkColumns<Entry>([
  { name: 'pool_id', type: 'uuid', of: ({ poolId }) => poolId },
  { name: 'account', type: 'text', of: ({ account }) => account },
  { name: 'coupon_id', type: 'uuid', of: ({ couponId = null }) => couponId },
  { name: 'amount', type: 'bigint', of: ({ amount }) => amount },
])
const INSERT_MOVEMENT = `
  INSERT INTO coupon.card_movements (id, project_id, kind, order_id, profile_id, visitor_id, user_id, reason, key_hash,
    request_hash, created_at)
  VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11)`
// One statement for all entries of a movement: the trigger of the ledger refuses any that do not amount to zero.
const INSERT_ENTRIES = `
  INSERT INTO coupon.card_entries (movement_id, line, project_id, currency, ${columns.names})
  SELECT $5::uuid, line, $6::uuid, $7::text, ${columns.names}
  FROM ${columns.unnest} WITH ORDINALITY AS given (${columns.names}, line)`
const INSERT_ISSUED = `
  WITH new_cards AS (
    SELECT c.id, given.amount, row_number() OVER (ORDER BY c.id) AS line
    FROM unnest($5::text[], $6::bigint[]) AS given (code, amount)
    JOIN coupon.coupons c ON c.project_id = $2 AND c.code = given.code
  )
  INSERT INTO coupon.card_entries (movement_id, line, project_id, pool_id, currency, account, coupon_id, amount)
  SELECT $1::uuid, line, $2::uuid, $3::uuid, $4::text, 'card', id, amount FROM new_cards
  UNION ALL
  SELECT $1::uuid, 0, $2::uuid, $3::uuid, $4::text, 'issued', NULL, -sum(amount) FROM new_cards`

/** The movement `issued` of new codes. `amount` in minor units. The caller has inserted the codes in the same transaction. */
export const issueCards = async (
  client: ClientBase,
  { id: poolId, projectId, currency }: { id: string; projectId: string; currency: string },
  cards: readonly { code: string; amount: number }[],
  at: Date,
): Promise<void> => {
  const filled = cards.filter(({ amount }) => amount > 0)
  if (filled.length === 0) return
  const movement: Movement = { id: uuidv7(), projectId, kind: 'issued', at }
  await insertMovement(client, movement)
  await client.query({
    name: 'issue-cards',
    text: INSERT_ISSUED,
    values: [
      movement.id,
      projectId,
      poolId,
      currency,
      filled.map(({ code }) => code),
      filled.map(({ amount }) => amount),
    ],
  })
  const amount = filled.reduce((sum, card) => sum + card.amount, 0)
  await publish(client, movement, { poolId, currency, amount, cards: filled.length })
}

/** Adds `amount` to a card that the transaction has locked. */
export const topUpCard = (client: ClientBase, movement: Movement, card: LedgerCard, amount: number) =>
  move(client, movement, card, { account: 'issued', amount })

/** Takes `amount` from a card that the transaction has locked, to pay an order. */
export const spendCard = (client: ClientBase, movement: Movement, card: LedgerCard, amount: number) =>
  move(client, movement, card, { account: 'spent', amount: -amount })

/** Returns `amount` of an order to a card that the transaction has locked. */
export const refundCard = (client: ClientBase, movement: Movement, card: LedgerCard, amount: number) =>
  move(client, movement, card, { account: 'spent', amount })

/** A movement between a card and an account of its pool. `amount` is what the card gets, below 0 what it loses. */
const move = async (
  client: ClientBase,
  movement: Movement,
  { id: couponId, poolId, currency }: LedgerCard,
  { account, amount }: { account: 'issued' | 'spent'; amount: number },
): Promise<void> => {
  await post(client, movement, currency, [
    { account: 'card', poolId, couponId, amount },
    { account, poolId, amount: -amount },
  ])
  await publish(client, movement, { poolId, couponId, currency, amount: Math.abs(amount), cards: 1 })
}

/** Moves `amount` between two cards of the same currency that the transaction has locked. */
export const transferBetweenCards = async (
  client: ClientBase,
  movement: Movement,
  { from, to }: { from: LedgerCard; to: LedgerCard },
  amount: number,
): Promise<void> => {
  await post(client, movement, from.currency, [
    { account: 'card', poolId: from.poolId, couponId: from.id, amount: -amount },
    { account: 'card', poolId: to.poolId, couponId: to.id, amount },
  ])
  const { id: couponId, poolId, currency } = from
  await publish(client, movement, { poolId, couponId, toCouponId: to.id, currency, amount, cards: 2 })
}

/** Moves all that locked cards of one pool hold to its breakage. */
export const expireCards = async (
  client: ClientBase,
  movement: Movement,
  { poolId, currency }: { poolId: string; currency: string },
  cards: readonly { id: string; balance: number }[],
): Promise<void> => {
  const amount = cards.reduce((sum, { balance }) => sum + balance, 0)
  await post(client, movement, currency, [
    ...cards.map(({ id, balance }): Entry => ({ account: 'card', poolId, couponId: id, amount: -balance })),
    { account: 'breakage', poolId, amount },
  ])
  const [only] = cards
  const couponId = cards.length === 1 && only ? only.id : null
  await publish(client, movement, { poolId, couponId, currency, amount, cards: cards.length })
}

const post = async (
  client: ClientBase,
  movement: Movement,
  currency: string,
  entries: readonly Entry[],
): Promise<void> => {
  await insertMovement(client, movement)
  await client.query({
    name: 'post-card-entries',
    text: INSERT_ENTRIES,
    values: [...columns.values(entries), movement.id, movement.projectId, currency],
  })
}

const insertMovement = async (client: ClientBase, movement: Movement): Promise<void> => {
  const { id, projectId, kind, orderId = null, person, reason = null, key, at } = movement
  const { profileId = null, visitorId = null, userId = null } = person ?? {}
  await client.query({
    name: 'insert-card-movement',
    text: INSERT_MOVEMENT,
    values: [
      id,
      projectId,
      kind,
      orderId,
      profileId,
      visitorId,
      userId,
      reason,
      key?.keyHash ?? null,
      key?.requestHash ?? null,
      at,
    ],
  })
}

type Moved = {
  poolId: string
  couponId?: string | null
  toCouponId?: string | null
  currency: string
  amount: number
  cards: number
}

const publish = async (
  client: ClientBase,
  { id: movementId, projectId, kind, orderId = null, person, at }: Movement,
  { poolId, couponId = null, toCouponId = null, currency, amount, cards }: Moved,
): Promise<void> => {
  const { profileId = null, visitorId = null, userId = null } = person ?? {}
  const value: CardMovementRecord = {
    v: 1,
    kind,
    projectId,
    movementId,
    poolId,
    couponId,
    toCouponId,
    cards,
    amount,
    currency,
    orderId,
    profileId,
    visitorId,
    userId,
    at: at.toISOString(),
  }
  const records = [{ key: `${projectId}:${couponId ?? poolId}`, value }]
  await client.query(outboxStatement(LANE, [{ topic: cardMovements, records }]))
}

const LOCK_ORDER = `SELECT pg_advisory_xact_lock(hashtextextended('order:' || $1 || ':' || $2, 0))`

/** Prevents other redemptions, payments and refunds of an order until the transaction ends: an order has no row to lock. */
export const lockOrderId = async (client: ClientBase, projectId: string, orderId: string): Promise<void> => {
  await client.query({ name: 'lock-order', text: LOCK_ORDER, values: [projectId, orderId] })
}

const BALANCES = `
  SELECT coupon_id AS "couponId", balance::float8 AS balance FROM coupon.card_balances WHERE coupon_id = ANY($1::uuid[])`

/**
 * What cards hold, in minor units, by their ids. The caller has locked the cards by an earlier statement: one that waits for a
 * lock would read balances from before it waited.
 */
export const readBalances = async (
  db: Pool | ClientBase,
  couponIds: readonly string[],
): Promise<ReadonlyMap<string, number>> => {
  if (couponIds.length === 0) return new Map()
  const { rows } = await db.query<{ couponId: string; balance: number }>({
    name: 'card-balances',
    text: BALANCES,
    values: [couponIds],
  })
  return new Map(rows.map(({ couponId, balance }) => [couponId, balance]))
}

/** What a card paid of an order: all of it, what was refunded, and the last movement. In minor units. */
export type OrderPayment = { couponId: string; spent: number; refunded: number; movementId: string }

const OF_ORDER = `
  SELECT e.coupon_id AS "couponId",
    coalesce(-sum(e.amount) FILTER (WHERE m.kind = 'spent'), 0)::float8 AS spent,
    coalesce(sum(e.amount) FILTER (WHERE m.kind = 'refunded'), 0)::float8 AS refunded,
    (array_agg(m.id ORDER BY m.id DESC) FILTER (WHERE m.kind = 'spent'))[1] AS "movementId"
  FROM coupon.card_movements m JOIN coupon.card_entries e ON e.movement_id = m.id
  WHERE m.project_id = $1 AND m.order_id = $2 AND e.account = 'card' GROUP BY e.coupon_id`

/** What gift cards paid of an order, by card. */
export const findOrderPayments = async (
  client: ClientBase,
  projectId: string,
  orderId: string,
): Promise<OrderPayment[]> => {
  const values = [projectId, orderId]
  return (await client.query<OrderPayment>({ name: 'payments-of-order', text: OF_ORDER, values })).rows
}

import type { ApiKeyKind } from '@waymark/contracts/api-key'
import type { Cart, Grant } from '@waymark/domain/coupon'
import type { ClientBase, Pool } from 'pg'
import type { Coupon } from './redeemable-coupon-queries.ts'
import { LIMITS, type Limits, REDEEMABLE } from './redemption-queries.ts'

/** A coupon or promotion of a hold. `budgetCharge` and `payment` of a gift card in minor units; null without. */
export type HeldCoupon = {
  couponId: string
  poolId: string
  grant: Grant
  budgetCharge: number | null
  payment: number | null
}

/** A cart whose codes, uses and budget are reserved until `expiresAt`. */
export type Hold = {
  id: string
  projectId: string
  /** Its id for clients. */
  key: string
  /** The kind of the API key that made it. */
  keyKind: ApiKeyKind
  profileId: string | null
  visitorId: string | null
  userId: string | null
  cart: Cart
  createdAt: Date
  expiresAt: Date
}

/** A hold as a client names it. Public keys reach only holds of public keys. */
export type HoldRef = { projectId: string; key: string; keyKind: ApiKeyKind }

const NAMED = `project_id = $1 AND key = $2 AND ($3 = 'sec' OR key_kind = $3)`
const REACHED = `${NAMED} AND expires_at > $4`
const named = ({ projectId, key, keyKind }: HoldRef) => [projectId, key, keyKind]
const reached = (ref: HoldRef, at: Date) => [...named(ref), at]
const COLUMNS = `id, project_id AS "projectId", key, key_kind AS "keyKind", profile_id AS "profileId", visitor_id AS "visitorId",
  user_id AS "userId", cart, created_at AS "createdAt", expires_at AS "expiresAt"`
const FIND = `SELECT ${COLUMNS} FROM coupon.holds WHERE ${REACHED}`
const ITEMS = `
  SELECT hold_id AS "holdId", pool_id AS "poolId", coupon_id AS "couponId", discount_amount::float8 AS "discountAmount",
    shipping_discount_amount::float8 AS "shippingDiscountAmount", item_discounts AS items,
    budget_charge::float8 AS "budgetCharge", payment_amount::float8 AS payment
  FROM coupon.hold_items WHERE hold_id = ANY($1::uuid[]) ORDER BY hold_id, position`
// The row is the lock: of a redemption, a replacement, a release and a removal, one finds it.
const TAKE = 'DELETE FROM coupon.holds WHERE id = $1 AND expires_at > $2'
const LOCK = `SELECT ${COLUMNS} FROM coupon.holds WHERE ${REACHED} FOR UPDATE`
const LOCK_REPLACED = `SELECT ${COLUMNS} FROM coupon.holds WHERE ${NAMED} FOR UPDATE`
const INSERT = `
  INSERT INTO coupon.holds (id, project_id, key, key_kind, profile_id, visitor_id, user_id, cart, created_at, expires_at)
  VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10) ON CONFLICT (project_id, key) DO NOTHING`
const INSERT_ITEM = `
  INSERT INTO coupon.hold_items (hold_id, position, pool_id, coupon_id, discount_amount, shipping_discount_amount,
    item_discounts, budget_charge, payment_amount, expires_at)
  VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10)`
const EXTEND = 'UPDATE coupon.holds SET expires_at = $2 WHERE id = $1'
const EXTEND_ITEMS = 'UPDATE coupon.hold_items SET expires_at = $2 WHERE hold_id = $1'
const EXTEND_COUPONS = 'UPDATE coupon.coupons SET held_until = $3 WHERE id = ANY($2::uuid[]) AND hold_id = $1'
// Those of holds that have ended by time need no reset.
const FREE_COUPONS = `
  UPDATE coupon.coupons SET hold_id = NULL, held_until = NULL
  WHERE id = ANY($2::uuid[]) AND hold_id = ANY($1::uuid[]) AND held_until > $3`

const LOCK_PERSON = `SELECT pg_advisory_xact_lock(hashtextextended('holds:' || $1, 0))`
const OF_PERSON = 'SELECT count(*)::int AS holds FROM coupon.holds WHERE profile_id = $1 AND expires_at > $2'

const HOLD_UNIQUE = `
  UPDATE coupon.coupons c SET hold_id = $4, held_until = $5 FROM coupon.pools p WHERE ${REDEEMABLE} RETURNING ${LIMITS}`
const HOLD_FOR_PROFILE = `
  INSERT INTO coupon.profile_counts AS known (pool_id, profile_id, redeemed, held) VALUES ($1, $2, 0, 1)
  ON CONFLICT (pool_id, profile_id) DO UPDATE SET held = known.held + 1
    WHERE $3::int IS NULL OR known.redeemed + known.held < $3`
const HOLD_OF_POOL = `
  UPDATE coupon.pool_counts SET held = held + 1, held_amount = held_amount + $3
  WHERE pool_id = $1 AND ($2::int IS NULL OR redeemed + held < $2)
    AND ($4::bigint IS NULL OR granted + held_amount + $3 <= $4)`
const HOLD_OF_PROJECT = `
  INSERT INTO coupon.hold_counts AS known (project_id, holds) VALUES ($1, 1)
  ON CONFLICT (project_id) DO UPDATE SET holds = known.holds + 1 WHERE known.holds < $2`

const RETURN_TO_PROFILE = `
  UPDATE coupon.profile_counts SET held = held - $3 WHERE pool_id = $1 AND profile_id = $2 AND held >= $3`
const MERGED_INTO = 'SELECT merged_into FROM ingest.profiles WHERE id = $1 AND merged_into IS NOT NULL'
const RETURN_TO_POOL = `
  UPDATE coupon.pool_counts SET held = held - $2, held_amount = held_amount - $3 WHERE pool_id = $1`
const RETURN_TO_PROJECT = 'UPDATE coupon.hold_counts SET holds = holds - $2 WHERE project_id = $1'

const ENDED_OF_ALL = 'SELECT id FROM coupon.holds WHERE expires_at <= $1 ORDER BY expires_at LIMIT $2'
const ENDED_OF_PROJECT = `
  SELECT id FROM coupon.holds WHERE project_id = $3 AND expires_at <= $1 ORDER BY expires_at LIMIT $2`
const LOCK_ENDED = `
  SELECT id, project_id AS "projectId", profile_id AS "profileId" FROM coupon.holds
  WHERE id = ANY($2::uuid[]) AND expires_at <= $1 ORDER BY id FOR UPDATE`
const DELETE = 'DELETE FROM coupon.holds WHERE id = ANY($1::uuid[])'

type ItemRow = Omit<HeldCoupon, 'grant'> & {
  holdId: string
  discountAmount: number
  shippingDiscountAmount: number
  items: number[]
}

const itemsOf = async (db: Pool | ClientBase, holdIds: readonly string[]) => {
  const { rows } = await db.query<ItemRow>({ name: 'hold-items', text: ITEMS, values: [holdIds] })
  return rows.map(({ holdId, couponId, poolId, budgetCharge, payment, ...grant }) => ({
    holdId,
    couponId,
    poolId,
    budgetCharge,
    payment,
    grant,
  }))
}

/** A hold that is live at `at`, and its coupons in the order of the request. */
export const findHold = async (
  db: Pool | ClientBase,
  ref: HoldRef,
  at: Date,
): Promise<{ hold: Hold; coupons: HeldCoupon[] } | undefined> => {
  const { rows } = await db.query<Hold>({ name: 'find-hold', text: FIND, values: reached(ref, at) })
  const [hold] = rows
  return hold && { hold, coupons: await itemsOf(db, [hold.id]) }
}

/** Locks a hold that is live at `at` until the transaction ends. */
export const lockHold = async (client: ClientBase, ref: HoldRef, at: Date): Promise<Hold | undefined> =>
  (await client.query<Hold>({ name: 'lock-hold', text: LOCK, values: reached(ref, at) })).rows[0]

/** Locks a hold that another one replaces, also one that has ended, until the transaction ends. */
export const lockReplacedHold = async (client: ClientBase, ref: HoldRef): Promise<Hold | undefined> =>
  (await client.query<Hold>({ name: 'lock-replaced-hold', text: LOCK_REPLACED, values: named(ref) })).rows[0]

/** Deletes a hold; false unless it is live at `at`. The caller redeems what it reserves. */
export const takeHold = async (client: ClientBase, { id }: Hold, at: Date): Promise<boolean> =>
  (await client.query({ name: 'take-hold', text: TAKE, values: [id, at] })).rowCount === 1

/** Stores a hold with its coupons; false when its key belongs to a hold that the client does not reach. */
export const storeHold = async (
  client: ClientBase,
  hold: Hold,
  coupons: readonly HeldCoupon[],
): Promise<boolean> => {
  const { id, projectId, key, keyKind, profileId, visitorId, userId, cart, createdAt, expiresAt } = hold
  const person = [profileId, visitorId, userId]
  const values = [id, projectId, key, keyKind, ...person, JSON.stringify(cart), createdAt, expiresAt]
  const { rowCount } = await client.query({ name: 'store-hold', text: INSERT, values })
  if (rowCount === 0) return false
  for (const [position, { couponId, poolId, grant, budgetCharge, payment }] of coupons.entries()) {
    const { discountAmount, shippingDiscountAmount, items } = grant
    const amounts = [discountAmount, shippingDiscountAmount, JSON.stringify(items), budgetCharge, payment]
    await client.query({
      name: 'store-hold-item',
      text: INSERT_ITEM,
      values: [id, position, poolId, couponId, ...amounts, expiresAt],
    })
  }
  return true
}

/** Prevents other holds of a person until the transaction ends. */
export const lockHoldsOfPerson = async (client: ClientBase, profileId: string): Promise<void> => {
  await client.query({ name: 'lock-holds-of-person', text: LOCK_PERSON, values: [profileId] })
}

/** The live holds of a person at `at`. */
export const countHoldsOfPerson = async (
  client: ClientBase,
  profileId: string,
  at: Date,
): Promise<number> => {
  const { rows } = await client.query<{ holds: number }>({
    name: 'holds-of-person',
    text: OF_PERSON,
    values: [profileId, at],
  })
  return rows[0]?.holds ?? 0
}

/** Holds a unique code; undefined when it cannot be redeemed, or another cart holds it. */
export const holdCode = async (
  client: ClientBase,
  { id }: Coupon,
  { profileId, createdAt, id: holdId, expiresAt }: Hold,
): Promise<Limits | undefined> => {
  const values = [id, createdAt, profileId, holdId, expiresAt]
  return (await client.query<Limits>({ name: 'hold-code', text: HOLD_UNIQUE, values })).rows[0]
}

/** Reserves a use of a pool for a profile; false beyond the limit. */
export const holdForProfile = async (
  client: ClientBase,
  poolId: string,
  profileId: string,
  limit: number | null,
): Promise<boolean> => {
  const values = [poolId, profileId, limit]
  return (await client.query({ name: 'hold-for-profile', text: HOLD_FOR_PROFILE, values })).rowCount === 1
}

/** Reserves a use and `charge` of the budget of a pool; false beyond the limit or the budget. */
export const holdOfPool = async (
  client: ClientBase,
  poolId: string,
  { maxRedemptions, budgetAmount }: Limits,
  charge: number | null,
): Promise<boolean> => {
  const values = [poolId, maxRedemptions, charge ?? 0, charge === null ? null : budgetAmount]
  return (await client.query({ name: 'hold-of-pool', text: HOLD_OF_POOL, values })).rowCount === 1
}

/** Counts a hold for its project; false beyond the limit. */
export const countHold = async (client: ClientBase, projectId: string, limit: number): Promise<boolean> => {
  const values = [projectId, limit]
  return (await client.query({ name: 'count-hold', text: HOLD_OF_PROJECT, values })).rowCount === 1
}

/** Returns what holds reserve for a profile. The count may have moved to the profile that it was merged into. */
export const returnToProfile = async (
  client: ClientBase,
  poolId: string,
  profileId: string,
  uses = 1,
): Promise<void> => {
  const giveBack = async (to: string): Promise<boolean> => {
    const values = [poolId, to, uses]
    const { rowCount } = await client.query({ name: 'return-to-profile', text: RETURN_TO_PROFILE, values })
    return rowCount === 1
  }
  if (await giveBack(profileId)) return
  const { rows } = await client.query<{ merged_into: string }>(MERGED_INTO, [profileId])
  const [living] = rows
  if (living) await giveBack(living.merged_into)
}

/** Returns what holds reserve of a pool. `amount` in minor units. */
export const returnToPool = async (
  client: ClientBase,
  poolId: string,
  { uses, amount }: { uses: number; amount: number },
): Promise<void> => {
  await client.query({ name: 'return-to-pool', text: RETURN_TO_POOL, values: [poolId, uses, amount] })
}

/** Uncounts holds of a project that ended. */
export const returnToProject = async (client: ClientBase, projectId: string, holds = 1): Promise<void> => {
  await client.query({ name: 'return-to-project', text: RETURN_TO_PROJECT, values: [projectId, holds] })
}

/** Moves the end of a hold that the transaction has locked. */
export const extendHold = async (client: ClientBase, { id }: Hold, expiresAt: Date): Promise<void> => {
  const coupons = await itemsOf(client, [id])
  await client.query(EXTEND, [id, expiresAt])
  await client.query(EXTEND_ITEMS, [id, expiresAt])
  await client.query(EXTEND_COUPONS, [id, coupons.map(({ couponId }) => couponId), expiresAt])
}

/** Deletes a hold that the transaction has locked, and returns what it reserves. */
export const releaseHold = (client: ClientBase, hold: Hold, at: Date): Promise<void> =>
  removeHolds(client, [hold], at)

type EndedHold = Pick<Hold, 'id' | 'projectId' | 'profileId'>

/**
 * Removes at most `limit` holds that ended until `at`, of one project or of all, and resolves to how many there were. Waits
 * for those that another transaction removes, so that none of them counts afterwards.
 */
export const removeEndedHolds = async (
  client: ClientBase,
  { at, limit, projectId }: { at: Date; limit: number; projectId?: string },
): Promise<number> => {
  const { rows: ended } = await client.query<{ id: string }>(
    projectId === undefined
      ? { name: 'ended-holds', text: ENDED_OF_ALL, values: [at, limit] }
      : { name: 'ended-holds-of-project', text: ENDED_OF_PROJECT, values: [at, limit, projectId] },
  )
  if (ended.length === 0) return 0
  const values = [at, ended.map(({ id }) => id)]
  const { rows } = await client.query<EndedHold>({ name: 'lock-ended-holds', text: LOCK_ENDED, values })
  await removeHolds(client, rows, at)
  return ended.length
}

/** Deletes locked holds and returns what they reserve, in the order in which redemptions lock the counts. */
const removeHolds = async (client: ClientBase, holds: readonly EndedHold[], at: Date): Promise<void> => {
  if (holds.length === 0) return
  const holdOf = new Map(holds.map((hold) => [hold.id, hold]))
  const items = (await itemsOf(client, [...holdOf.keys()])).toSorted((a, b) => compare(a.poolId, b.poolId))
  await client.query(FREE_COUPONS, [[...holdOf.keys()], items.map(({ couponId }) => couponId), at])
  await client.query(DELETE, [[...holdOf.keys()]])
  const ofPools = Map.groupBy(items, ({ poolId }) => poolId)
  for (const [poolId, held] of ofPools) {
    const profileIds = held.flatMap(({ holdId }) => holdOf.get(holdId)?.profileId ?? []).toSorted(compare)
    for (const [profileId, { length }] of Map.groupBy(profileIds, (id) => id))
      await returnToProfile(client, poolId, profileId, length)
  }
  for (const [poolId, held] of ofPools) {
    const amount = held.reduce((sum, { budgetCharge }) => sum + (budgetCharge ?? 0), 0)
    await returnToPool(client, poolId, { uses: held.length, amount })
  }
  const projectIds = holds.map(({ projectId }) => projectId).toSorted(compare)
  for (const [projectId, { length }] of Map.groupBy(projectIds, (id) => id))
    await returnToProject(client, projectId, length)
}

const compare = (a: string, b: string): number => (a === b ? 0 : a < b ? -1 : 1)

import type { PointMovementKind } from '@waymark/contracts/loyalty'
import { bulkColumns } from '@waymark/database'
import type { Lot } from '@waymark/domain/loyalty'
import type { ClientBase, Pool } from 'pg'

/** An entry of a movement: on the points of a person, in the lot that they came by, or on another account of the programme. */
export type PointEntry = {
  movementId: string
  programmeId: string
  accountId: string
  account: 'person' | 'earned' | 'adjusted' | 'spent' | 'expired'
  lotId?: string
  points: number
}

/** What is stored of a movement of points. */
export type PointMovement = {
  id: string
  projectId: string
  programmeId: string
  kind: PointMovementKind
  /** The event that earned the points. */
  eventKey?: string
  orderId?: string | null
  /** What spent points are worth, in minor units of the currency. */
  amount?: number
  currency?: string
  /** Points that a reversal could not take back because they were spent. */
  shortfall?: number
  /** Hashes of the client's key and its request. */
  key?: { keyHash: string; requestHash: string }
  reason?: string | null
  /** When the points were earned or moved. */
  occurredAt: Date
  /** When points that it adds expire; null: never. */
  expiresAt?: Date | null
  at: Date
}

const textOf = (time: Date | null | undefined): string | null => time?.toISOString() ?? null

const movements = bulkColumns<PointMovement>([
  { name: 'id', type: 'uuid', of: ({ id }) => id },
  { name: 'project_id', type: 'uuid', of: ({ projectId }) => projectId },
  { name: 'programme_id', type: 'uuid', of: ({ programmeId }) => programmeId },
  { name: 'kind', type: 'text', of: ({ kind }) => kind },
  { name: 'event_key', type: 'uuid', of: ({ eventKey = null }) => eventKey },
  { name: 'order_id', type: 'text', of: ({ orderId = null }) => orderId },
  { name: 'amount', type: 'bigint', of: ({ amount = null }) => amount },
  { name: 'currency', type: 'text', of: ({ currency = null }) => currency },
  { name: 'shortfall', type: 'bigint', of: ({ shortfall = null }) => shortfall },
  { name: 'key_hash', type: 'text', of: ({ key }) => key?.keyHash ?? null },
  { name: 'request_hash', type: 'text', of: ({ key }) => key?.requestHash ?? null },
  { name: 'reason', type: 'text', of: ({ reason = null }) => reason },
  { name: 'occurred_at', type: 'timestamptz', of: ({ occurredAt }) => textOf(occurredAt) },
  { name: 'expires_at', type: 'timestamptz', of: ({ expiresAt }) => textOf(expiresAt) },
  { name: 'created_at', type: 'timestamptz', of: ({ at }) => textOf(at) },
])
const entries = bulkColumns<PointEntry>([
  { name: 'movement_id', type: 'uuid', of: ({ movementId }) => movementId },
  { name: 'programme_id', type: 'uuid', of: ({ programmeId }) => programmeId },
  { name: 'account_id', type: 'uuid', of: ({ accountId }) => accountId },
  { name: 'account', type: 'text', of: ({ account }) => account },
  { name: 'lot_id', type: 'uuid', of: ({ lotId = null }) => lotId },
  { name: 'points', type: 'bigint', of: ({ points }) => points },
])

// An event earns points of a programme once, also when its id was forgotten and it is sent again.
const INSERT_MOVEMENTS = `
  INSERT INTO coupon.point_movements (${movements.names}) SELECT * FROM ${movements.unnest}
  ON CONFLICT (programme_id, event_key) DO NOTHING RETURNING id`
// One statement for all entries of a movement: the trigger of the ledger refuses any that do not amount to zero.
const INSERT_ENTRIES = `
  INSERT INTO coupon.point_entries (line, ${entries.names})
  SELECT row_number() OVER (PARTITION BY movement_id ORDER BY index), ${entries.names}
  FROM ${entries.unnest} WITH ORDINALITY AS given (${entries.names}, index)`

/** Stores movements whose accounts the transaction has locked. Of an event that has earned points before, none. */
export const postPoints = async (
  client: ClientBase,
  moved: readonly PointMovement[],
  entriesOf: readonly PointEntry[],
): Promise<void> => {
  const { rows } = await client.query<{ id: string }>({
    name: 'insert-point-movements',
    text: INSERT_MOVEMENTS,
    values: movements.values(moved),
  })
  const stored = new Set(rows.map(({ id }) => id))
  const posted = entriesOf.filter(({ movementId }) => stored.has(movementId))
  if (posted.length === 0) return
  await client.query({ name: 'post-point-entries', text: INSERT_ENTRIES, values: entries.values(posted) })
}

/** An account by its programme and profile. */
type AccountKey = { projectId: string; programmeId: string; profileId: string }
export type PointAccount = { id: string; programmeId: string; profileId: string }

const accounts = bulkColumns<AccountKey & { id: string }>([
  { name: 'id', type: 'uuid', of: ({ id }) => id },
  { name: 'project_id', type: 'uuid', of: ({ projectId }) => projectId },
  { name: 'programme_id', type: 'uuid', of: ({ programmeId }) => programmeId },
  { name: 'profile_id', type: 'uuid', of: ({ profileId }) => profileId },
])
const OPEN_ACCOUNTS = `
  INSERT INTO coupon.point_accounts (${accounts.names}, created_at)
  SELECT ${accounts.names}, $5::timestamptz FROM ${accounts.unnest} AS given (${accounts.names})
  ORDER BY programme_id, profile_id ON CONFLICT (programme_id, profile_id) DO NOTHING`

/** Creates the accounts that do not exist. */
export const openAccounts = async (
  client: ClientBase,
  wanted: readonly (AccountKey & { id: string })[],
  at: Date,
): Promise<void> => {
  await client.query({
    name: 'open-point-accounts',
    text: OPEN_ACCOUNTS,
    values: [...accounts.values(wanted), at],
  })
}

// All writers lock accounts in this order. The row of the account is the lock of its lots.
const LOCK_ACCOUNTS = `
  SELECT a.id, a.programme_id AS "programmeId", a.profile_id AS "profileId" FROM coupon.point_accounts a
  WHERE (a.programme_id, a.profile_id) IN (SELECT * FROM unnest($1::uuid[], $2::uuid[]))
  ORDER BY a.programme_id, a.profile_id FOR NO KEY UPDATE OF a`

/** Locks accounts until the transaction ends. Read their lots by a later statement, which sees what others changed before. */
export const lockAccounts = async (
  client: ClientBase,
  keys: readonly Omit<AccountKey, 'projectId'>[],
): Promise<PointAccount[]> => {
  const { rows } = await client.query<PointAccount>({
    name: 'lock-point-accounts',
    text: LOCK_ACCOUNTS,
    values: [keys.map(({ programmeId }) => programmeId), keys.map(({ profileId }) => profileId)],
  })
  return rows
}

const LOTS = `
  SELECT id, account_id AS "accountId", points::float8 AS points FROM coupon.point_lots
  WHERE account_id = ANY($1::uuid[]) AND points > 0 AND (expires_at IS NULL OR expires_at > $2 OR id = ANY($3::uuid[]))
  ORDER BY occurred_at, id`

/** The lots of accounts that have points at a time, the oldest first. Those of `ids` also when they have expired. */
export const readLots = async (
  db: Pool | ClientBase,
  accountIds: readonly string[],
  at: Date,
  ids: readonly string[] = [],
): Promise<Lot[]> => {
  const values = [accountIds, at, ids]
  return (await db.query<Lot>({ name: 'point-lots', text: LOTS, values })).rows
}

// Shared by writers of events, and exclusive for a reversal: a lock for each order of a batch could exhaust the lock table.
const SHARE_EARNING = `
  SELECT pg_advisory_xact_lock_shared(hashtextextended('earn-points:' || project_id, 0))
  FROM unnest($1::uuid[]) AS given (project_id)`
const STOP_EARNING = `SELECT pg_advisory_xact_lock(hashtextextended('earn-points:' || $1::uuid, 0))`
const REVERSED = `
  SELECT project_id AS "projectId", order_hash AS "orderHash" FROM coupon.point_reversals
  WHERE (project_id, order_hash) IN (SELECT * FROM unnest($1::uuid[], $2::text[]))`

/** Prevents reversals of orders of projects until the transaction ends. Pass the ids sorted, each once. */
export const lockOutReversals = async (client: ClientBase, projectIds: readonly string[]): Promise<void> => {
  await client.query({ name: 'share-earning', text: SHARE_EARNING, values: [projectIds] })
}

/** Those of some orders that were reversed, as `project/hash`. */
export const findReversedOrders = async (
  client: ClientBase,
  orders: readonly { projectId: string; orderHash: string }[],
): Promise<ReadonlySet<string>> => {
  const { rows } = await client.query<{ projectId: string; orderHash: string }>({
    name: 'reversed-orders',
    text: REVERSED,
    values: [orders.map(({ projectId }) => projectId), orders.map(({ orderHash }) => orderHash)],
  })
  return new Set(rows.map(({ projectId, orderHash }) => `${projectId}/${orderHash}`))
}

const ADD_REVERSAL = `
  INSERT INTO coupon.point_reversals (project_id, order_hash, created_at) VALUES ($1, $2, $3) ON CONFLICT DO NOTHING`

/**
 * Marks an order as reversed. Resolves to whether this call did. Waits for events that are being stored, and keeps those of the
 * project waiting until the transaction ends.
 */
export const addReversal = async (
  client: ClientBase,
  { projectId, orderHash, at }: { projectId: string; orderHash: string; at: Date },
): Promise<boolean> => {
  await client.query(STOP_EARNING, [projectId])
  return (await client.query(ADD_REVERSAL, [projectId, orderHash, at])).rowCount === 1
}

/** What an order moved on a lot of an account: what it earned and spent, and what of the lot has expired. */
export type OrderLot = {
  programmeId: string
  accountId: string
  profileId: string
  lotId: string
  kind: 'earned' | 'spent'
  points: number
  expired: number
}

const OF_ORDER = `
  SELECT e.programme_id AS "programmeId", e.account_id AS "accountId", a.profile_id AS "profileId", e.lot_id AS "lotId",
    m.kind, e.points::float8 AS points, (
      SELECT coalesce(-sum(gone.points), 0)::float8
      FROM coupon.point_entries gone JOIN coupon.point_movements why ON why.id = gone.movement_id
      WHERE gone.account_id = e.account_id AND gone.lot_id = e.lot_id AND why.kind = 'expired'
    ) AS expired
  FROM coupon.point_movements m JOIN coupon.point_entries e ON e.movement_id = m.id
  JOIN coupon.point_accounts a ON a.id = e.account_id
  WHERE m.project_id = $1 AND m.order_id = $2 AND m.kind IN ('earned', 'spent') AND e.account = 'person'
    AND a.profile_id IS NOT NULL
  ORDER BY m.id, e.line`

/** What an order earned and spent. */
export const findOrderLots = async (
  client: ClientBase,
  projectId: string,
  orderId: string,
): Promise<OrderLot[]> => (await client.query<OrderLot>(OF_ORDER, [projectId, orderId])).rows

/** What an order spent of a programme. `amount` in minor units. */
export type OrderSpending = {
  programmeId: string
  movementId: string
  points: number
  amount: number
  currency: string
}

const SPENT = `
  SELECT m.programme_id AS "programmeId", m.id AS "movementId", m.amount::float8 AS amount, m.currency,
    (SELECT sum(points) FROM coupon.point_entries WHERE movement_id = m.id AND account = 'spent')::float8 AS points
  FROM coupon.point_movements m WHERE m.project_id = $1 AND m.order_id = $2 AND m.kind = 'spent'`

/** What an order spent of each programme, without regard to a reversal. */
export const findOrderSpending = async (
  client: ClientBase,
  projectId: string,
  orderId: string,
): Promise<OrderSpending[]> => {
  const values = [projectId, orderId]
  return (await client.query<OrderSpending>({ name: 'points-of-order', text: SPENT, values })).rows
}

const PROFILES = `
  SELECT own.id FROM ingest.profiles asked JOIN ingest.profiles own
    ON own.id = coalesce(asked.merged_into, asked.id) OR own.merged_into = coalesce(asked.merged_into, asked.id)
  WHERE asked.id = $1`

/** All profiles of the person of a profile. */
export const findProfileIds = async (client: ClientBase, profileId: string): Promise<string[]> => {
  const statement = { name: 'profiles-of-person', text: PROFILES, values: [profileId] }
  return (await client.query<{ id: string }>(statement)).rows.map(({ id }) => id)
}

const FIND_EXPIRED = `
  SELECT id, account_id AS "accountId" FROM coupon.point_lots WHERE points > 0 AND expires_at <= $1
  ORDER BY expires_at LIMIT $2`
// Skips accounts that others have locked: the next run finds their lots again.
const LOCK_EXPIRED = `
  SELECT id, programme_id AS "programmeId", project_id AS "projectId" FROM coupon.point_accounts
  WHERE id = ANY($1::uuid[]) FOR NO KEY UPDATE SKIP LOCKED`
const EXPIRED_LOTS = `
  SELECT id, account_id AS "accountId", points::float8 AS points FROM coupon.point_lots
  WHERE id = ANY($1::uuid[]) AND account_id = ANY($2::uuid[]) AND points > 0`

/** Lots that have expired at a time with points, the first ones first. */
export const findExpiredLots = async (db: Pool, at: Date, limit: number) => {
  const values = [at, limit]
  const statement = { name: 'expired-lots', text: FIND_EXPIRED, values }
  return (await db.query<{ id: string; accountId: string }>(statement)).rows
}

/** Locks the accounts of expired lots that are not locked, and reads what the lots hold. */
export const lockExpiredLots = async (
  client: ClientBase,
  lots: readonly { id: string; accountId: string }[],
) => {
  const { rows: locked } = await client.query<{ id: string; programmeId: string; projectId: string }>(
    LOCK_EXPIRED,
    [[...new Set(lots.map(({ accountId }) => accountId))]],
  )
  const { rows } = await client.query<Lot>(EXPIRED_LOTS, [
    lots.map(({ id }) => id),
    locked.map(({ id }) => id),
  ])
  const accountOf = new Map(locked.map((account) => [account.id, account]))
  return rows.flatMap((lot) => {
    const account = accountOf.get(lot.accountId)
    return account ? [{ ...lot, programmeId: account.programmeId, projectId: account.projectId }] : []
  })
}

const POINTS_OF = `
  SELECT a.programme_id AS "programmeId", sum(a.earned)::float8 AS earned, coalesce(sum(lots.points), 0)::float8 AS balance,
    min(lots.expires_at) AS "expiresAt"
  FROM coupon.point_accounts a
  LEFT JOIN LATERAL (
    SELECT sum(points) AS points, min(expires_at) AS expires_at FROM coupon.point_lots
    WHERE account_id = a.id AND points > 0 AND (expires_at IS NULL OR expires_at > $2)
  ) AS lots ON true
  WHERE a.profile_id = ANY($1::uuid[]) AND ($3::uuid IS NULL OR a.programme_id = $3)
  GROUP BY a.programme_id`
const EXPIRING = `
  SELECT a.programme_id AS "programmeId", l.expires_at AS "expiresAt", sum(l.points)::float8 AS points
  FROM coupon.point_accounts a JOIN coupon.point_lots l ON l.account_id = a.id
  WHERE a.profile_id = ANY($1::uuid[]) AND l.points > 0 AND (a.programme_id, l.expires_at) IN (
    SELECT * FROM unnest($2::uuid[], $3::timestamptz[]))
  GROUP BY 1, 2`

/** The points of a person in a programme at a time. */
export type PersonPoints = {
  programmeId: string
  balance: number
  /** All that conversions have earned, without what was reversed. */
  earned: number
  nextExpiry: { points: number; at: Date } | null
}

/** The points of a person, whose profiles are `profileIds`, in each programme or in one. Without those that have expired. */
export const readPoints = async (
  db: Pool | ClientBase,
  profileIds: readonly string[],
  { at, programmeId = null }: { at: Date; programmeId?: string | null },
): Promise<PersonPoints[]> => {
  if (profileIds.length === 0) return []
  const { rows } = await db.query<Omit<PersonPoints, 'nextExpiry'> & { expiresAt: Date | null }>({
    name: 'points-of-person',
    text: POINTS_OF,
    values: [profileIds, at, programmeId],
  })
  const expiring = rows.flatMap(({ programmeId, expiresAt }) =>
    expiresAt ? [{ programmeId, expiresAt }] : [],
  )
  const { rows: next } =
    expiring.length === 0
      ? { rows: [] }
      : await db.query<{ programmeId: string; expiresAt: Date; points: number }>({
          name: 'expiring-points',
          text: EXPIRING,
          values: [
            profileIds,
            expiring.map(({ programmeId }) => programmeId),
            expiring.map(({ expiresAt }) => expiresAt),
          ],
        })
  const nextOf = new Map(next.map((one) => [one.programmeId, one]))
  return rows.map(({ programmeId, balance, earned }) => {
    const first = nextOf.get(programmeId)
    return {
      programmeId,
      balance,
      earned,
      nextExpiry: first ? { points: first.points, at: first.expiresAt } : null,
    }
  })
}

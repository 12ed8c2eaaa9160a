import type { Database, Prisma } from '@waymark/database'
import { insertCoupons } from '@waymark/pipeline'
import type { ClientBase } from 'pg'
import { v7 as uuidv7 } from 'uuid'
import { unprocessable } from '../http/validation.ts'
import { writeTransaction } from '../http/write-transaction.ts'
import { lockQuota, type Quotas, quotaLock, requireWithinQuota } from '../quotas.ts'
import type { PoolValues } from './coupon-pool-values.ts'

/** A row of `coupon.pools`, by the names of its columns. */
const rowOf = (id: string, projectId: string, pool: PoolValues['pool']) => ({
  id,
  project_id: projectId,
  name: pool.name,
  kind: pool.kind,
  status: pool.status,
  prefix: pool.prefix,
  alphabet: pool.alphabet,
  length: pool.length,
  size: pool.size,
  generated: pool.generated ?? 0,
  discount: JSON.stringify(pool.discount),
  starts_at: pool.startsAt ?? null,
  expires_at: pool.expiresAt ?? null,
  per_profile_limit: pool.perProfileLimit ?? null,
  max_redemptions: pool.maxRedemptions ?? null,
  rules: pool.rules && JSON.stringify(pool.rules),
  stackable: pool.stackable ?? false,
  budget_amount: pool.budgetAmount ?? null,
  budget_currency: pool.budgetCurrency ?? null,
})

const insertPool = async (
  client: Pick<ClientBase, 'query'>,
  row: ReturnType<typeof rowOf>,
): Promise<void> => {
  const columns = Object.keys(row)
  const parameters = columns.map((_column, index) => `$${index + 1}`)
  const text = `INSERT INTO coupon.pools (${columns.join(', ')}) VALUES (${parameters.join(', ')})`
  await client.query(text, Object.values(row))
}

/**
 * Stores a pool, with the coupon of a shared one, and resolves to its id.
 * @throws AppError unprocessable when the project already has the code, or would exceed a quota
 */
export const createPool = (
  db: Pick<Database, 'transaction'>,
  projectId: string,
  { pool, code }: PoolValues,
  quotas: Quotas,
): Promise<string> =>
  writeTransaction(db, async (client) => {
    const used = await lockCouponQuotas(client, projectId)
    requireWithinQuota(quotas, 'couponPools', used.pools + 1)
    requireWithinQuota(quotas, 'couponCodes', used.codes + pool.size, 'size')
    const id = uuidv7()
    await insertPool(client, rowOf(id, projectId, pool))
    await client.query('INSERT INTO coupon.pool_counts (pool_id) VALUES ($1)', [id])
    if (code && (await insertCoupons(client, { id, projectId }, [code])).length === 0)
      throw unprocessable('code', 'unique', 'is a coupon of the project already')
    return id
  })

const LOCK = 'SELECT pg_advisory_xact_lock(hashtextextended($1, 0))'
const USED = `
  SELECT count(*)::int AS pools, coalesce(sum(size), 0)::bigint AS codes FROM coupon.pools WHERE project_id = $1`

/**
 * Locks the coupon quotas of a project until the transaction ends, and resolves to how many pools and codes it has. Always
 * called before a pool is locked.
 */
export const lockCouponQuotas = async (
  client: Pick<ClientBase, 'query'>,
  projectId: string,
): Promise<{ pools: number; codes: number }> => {
  await client.query(LOCK, [quotaLock(projectId, 'couponCodes')])
  const { rows } = await client.query<{ pools: number; codes: string }>(USED, [projectId])
  return { pools: rows[0]?.pools ?? 0, codes: Number(rows[0]?.codes ?? 0) }
}

/** Takes the same lock in a transaction of Prisma, and resolves to how many codes the project has. */
export const lockCodeQuota = async (tx: Prisma.TransactionClient, projectId: string): Promise<number> => {
  await lockQuota(tx, projectId, 'couponCodes')
  const { _sum } = await tx.couponPool.aggregate({ where: { projectId }, _sum: { size: true } })
  return _sum.size ?? 0
}

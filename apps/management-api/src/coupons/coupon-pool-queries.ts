import type { Database } from '@waymark/database'
import { v7 as uuidv7 } from 'uuid'
import { inPrisma, type Query, requireCallerWithLock } from '../http/caller-queries.ts'
import { unprocessable } from '../http/validation.ts'
import { type Quotas, quotaLock, requireWithinQuota } from '../quotas.ts'
import type { PoolValues } from './coupon-pool-values.ts'
import { requireSegments } from './pool-segments.ts'

/**
 * Stores a pool, with the coupon of a shared one, and resolves to its id.
 * @throws AppError unprocessable when the project already has the code, or would exceed a quota, or has no such segment
 */
export const createPool = (
  db: Pick<Database, 'prisma'>,
  projectId: string,
  { pool, code, rules }: PoolValues,
  quotas: Quotas,
): Promise<string> =>
  db.prisma.$transaction(async (tx) => {
    const used = await lockCouponQuotas(inPrisma(tx), projectId)
    await requireCallerWithLock(tx)
    requireWithinQuota(quotas, 'couponPools', used.pools + 1)
    requireWithinQuota(quotas, 'couponCodes', used.codes + pool.size, 'size')
    if (pool.kind === 'automatic') requireWithinQuota(quotas, 'promotions', used.promotions + 1)
    await requireSegments(tx, projectId, rules)
    const id = uuidv7()
    await tx.couponPool.create({ data: { ...pool, id, projectId, count: { create: {} } } })
    if (code === null) return id
    const coupon = { ...code, id: uuidv7(), projectId, poolId: id }
    const { count } = await tx.coupon.createMany({ data: [coupon], skipDuplicates: true })
    if (count === 0) throw unprocessable('code', 'unique', 'is a coupon of the project already')
    return id
  })

const LOCK = 'SELECT 1 FROM pg_advisory_xact_lock(hashtextextended($1, 0))'
const USED = `
  SELECT count(*)::int AS pools, coalesce(sum(size), 0)::float8 AS codes,
    count(*) FILTER (WHERE kind = 'automatic' AND archived_at IS NULL)::int AS promotions
  FROM coupon.pools WHERE project_id = $1::uuid`

/** What a project has of the coupon quotas. */
type UsedQuotas = { pools: number; codes: number; promotions: number }

/**
 * Locks the coupon quotas of a project until the transaction ends, and resolves to how much of them it uses. Always
 * called before a pool is locked.
 */
export const lockCouponQuotas = async (query: Query<UsedQuotas>, projectId: string): Promise<UsedQuotas> => {
  await query(LOCK, [quotaLock(projectId, 'couponCodes')])
  const [used] = await query(USED, [projectId])
  return used ?? { pools: 0, codes: 0, promotions: 0 }
}

import type { Database } from '@waymark/database'
import { insertCoupons } from '@waymark/pipeline'
import { v7 as uuidv7 } from 'uuid'
import type { PoolValues } from './coupon-pool-values.ts'
import { unprocessable } from './validation.ts'

const CREATE = `
  INSERT INTO coupon.pools (id, project_id, name, kind, status, prefix, alphabet, length, size, generated, discount,
    starts_at, expires_at, per_profile_limit, max_redemptions)
  VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15)`

/**
 * Stores a pool, with its coupon when it is a shared one, and answers its id.
 * @throws AppError unprocessable when the project has the code already
 */
export const createPool = (
  db: Pick<Database, 'transaction'>,
  projectId: string,
  { pool, code }: PoolValues,
): Promise<string> =>
  db.transaction(async (client) => {
    const id = uuidv7()
    await client.query(CREATE, [
      ...[
        id,
        projectId,
        pool.name,
        pool.kind,
        pool.status,
        pool.prefix,
        pool.alphabet,
        pool.length,
        pool.size,
      ],
      ...[pool.generated ?? 0, JSON.stringify(pool.discount), pool.startsAt ?? null, pool.expiresAt ?? null],
      ...[pool.perProfileLimit ?? null, pool.maxRedemptions ?? null],
    ])
    await client.query('INSERT INTO coupon.pool_counts (pool_id) VALUES ($1)', [id])
    if (code && (await insertCoupons(client, { id, projectId }, [code])).length === 0)
      throw unprocessable('code', 'unique', 'is a coupon of the project already')
    return id
  })

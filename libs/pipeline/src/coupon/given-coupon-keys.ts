import type { Database } from '@waymark/database'
import type { ErasureJob } from '../erasure/erasure-job.ts'

/** Where the cache keeps which coupon of a pool a profile was given. */
export const givenCouponKey = (projectId: string, poolId: string, profileId: string): string =>
  `given-coupon:v1:${projectId}:${poolId}:${profileId}`

// The code of a shared pool is given without being assigned.
const POOLS = `
  SELECT p.id AS "poolId", given.id AS "profileId"
  FROM coupon.pools p CROSS JOIN unnest($2::uuid[]) AS given (id)
  WHERE p.project_id = $1 AND (p.kind = 'shared' OR EXISTS (
    SELECT FROM coupon.assignments a WHERE a.pool_id = p.id AND a.profile_id = ANY($2)))`

/** Every key of the cache that may hold a coupon of a person. */
export const givenCouponKeys = async (
  { projectId, profileIds }: Pick<ErasureJob, 'projectId' | 'profileIds'>,
  { db }: { db: Pick<Database, 'pool'> },
): Promise<string[]> => {
  const { rows } = await db.pool.query<{ poolId: string; profileId: string }>(POOLS, [projectId, profileIds])
  return rows.map(({ poolId, profileId }) => givenCouponKey(projectId, poolId, profileId))
}

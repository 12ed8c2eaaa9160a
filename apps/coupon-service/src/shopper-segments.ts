import { type Shopper, withSegments } from '@waymark/pipeline'
import type { ProjectConfigs } from '@waymark/project-config'
import type { ClientBase, Pool } from 'pg'
import type { Coupon } from './redeemable-coupon-queries.ts'

/** A person with the segments that the conditions of coupons refer to, at `now` (ms since the epoch). */
export const inSegments = async (
  db: Pool | ClientBase,
  projectConfigs: ProjectConfigs,
  {
    projectId,
    shopper,
    coupons,
    now,
  }: {
    projectId: string
    shopper: Shopper | undefined
    coupons: readonly Coupon[]
    now: number
  },
): Promise<Shopper | undefined> => {
  const conditions = coupons.flatMap(({ pool: { rules } }) => rules?.condition ?? [])
  if (!shopper || conditions.length === 0) return shopper
  const { segments } = (await projectConfigs.get(projectId)).decisions
  return withSegments(db, shopper, conditions, { segments, now })
}

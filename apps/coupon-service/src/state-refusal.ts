import type { CodeRefusal } from '@waymark/contracts/http/coupon-operations'
import { refusalOf } from '@waymark/domain/coupon'
import { countsOfShopper, type Shopper } from '@waymark/pipeline'
import type { ClientBase, Pool } from 'pg'
import type { Coupon, SeenHolds } from './redeemable-coupon-queries.ts'

/** A person, undefined when a request names none, and how often they redeemed or hold coupons of limited pools, by pool id. */
export type Person = { shopper: Shopper | undefined; counts: ReadonlyMap<string, number> }

const NO_COUNTS: ReadonlyMap<string, number> = new Map()

/** Reads how often a person has redeemed or holds coupons of those pools that are limited per person. */
export const withCounts = async (
  db: Pool | ClientBase,
  coupons: readonly Coupon[],
  shopper: Shopper | undefined,
  seen: SeenHolds,
): Promise<Person> => {
  const limited = coupons.filter(({ pool }) => pool.perProfileLimit !== null).map(({ pool }) => pool.id)
  const counts = shopper && limited.length > 0 ? await countsOfShopper(db, limited, shopper, seen) : NO_COUNTS
  return { shopper, counts }
}

/** Why a redemption at `now` (ms since the epoch) would be refused with any cart. */
export const stateRefusalOf = (
  { assignedProfileId, pool, ...state }: Coupon,
  { shopper, counts }: Person,
  now: number,
): CodeRefusal | undefined => {
  const refusal = refusalOf({ ...state, pool }, now)
  if (refusal !== undefined) return refusal
  if (assignedProfileId !== null && !shopper?.profileIds.includes(assignedProfileId))
    return 'already_redeemed'
  if (pool.perProfileLimit === null) return undefined
  if (!shopper) return 'person_required'
  return (counts.get(pool.id) ?? 0) >= pool.perProfileLimit ? 'already_redeemed' : undefined
}

import { randomUUID } from 'node:crypto'
import { AppError, storeUnavailable } from '@waymark/contracts/app-error'
import { MAX_HOLD_SECONDS } from '@waymark/contracts/http/cart'
import { REDEMPTION_LOCK_TIMEOUT_MS } from '@waymark/contracts/request-budget'
import { type Database, retryConflicts } from '@waymark/database'
import { readBalances, resolveProfiles } from '@waymark/pipeline'
import type { ApiKey } from '@waymark/project-config'
import type { ClientBase } from 'pg'
import { v7 as uuidv7 } from 'uuid'
import type { CartRequest, Computed } from './cart-request.ts'
import {
  countHold,
  countHoldsOfPerson,
  extendHold,
  findHold,
  type HeldCoupon,
  type Hold,
  type HoldRef,
  holdCode,
  holdForProfile,
  holdOfPool,
  lockHold,
  lockHoldsOfPerson,
  lockReplacedHold,
  releaseHold,
  removeEndedHolds,
  storeHold,
} from './hold-queries.ts'
import { claimCoupon, type Limits, lockProfile, takeOverCounts } from './redemption-queries.ts'

/** The most live holds of a project, and of a person by the kind of the API key. */
export const HOLD_LIMITS = { perProject: 10_000, perPerson: { sec: 5, pub: 1 } }

/** Who holds: the project and the kind of the API key. */
export type Holder = { projectId: string; keyKind: ApiKey['kind'] }

/** A cart to hold for `seconds`. */
export type HoldRequest = CartRequest & { seconds: number }

/** What a client is told about its hold. */
export type HoldTerms = { holdId: string; holdExpiresAt: Date }

/** The error for a hold that is not live. */
export const HOLD_NOT_FOUND =
  'The project has no such hold: it has ended, or was redeemed or released. Hold the cart again'

/** Each repeats the computation, because another cart took what it chose. */
const ATTEMPTS = 5
const ENDED_ROWS = 200
/** A client over its limit of live holds may repeat then, in seconds. */
const RETRY_AFTER_S = 60

/** What was chosen is no longer there. Rolls back what is held so far. */
class NotLeft extends Error {}

/** Removes holds that have ended, of one project or of all, at most `ENDED_ROWS` at once. Resolves to how many. */
export const createRemoveEndedHolds =
  ({ db, clock }: { db: Pick<Database, 'transaction'>; clock: () => number }) =>
  (projectId?: string): Promise<number> =>
    retryConflicts(() =>
      db.transaction((client) =>
        removeEndedHolds(client, {
          at: new Date(clock()),
          limit: ENDED_ROWS,
          ...(projectId !== undefined && { projectId }),
        }),
      ),
    )

/**
 * Reserves the codes, uses and budget of carts. Locks are taken in the order of a redemption: profile, coupons, counts of
 * the profile, pools, and then the count of the project.
 */
export const createHolds = ({
  db,
  clock,
  holdLimits = HOLD_LIMITS,
}: {
  db: Database
  clock: () => number
  holdLimits?: typeof HOLD_LIMITS
}) => {
  const removeEnded = createRemoveEndedHolds({ db, clock })
  const inTransaction = <T>(run: (client: ClientBase, at: Date) => Promise<T>): Promise<T> =>
    retryConflicts(() =>
      db.transaction((client) => run(client, new Date(clock())), {
        lockTimeoutMs: REDEMPTION_LOCK_TIMEOUT_MS,
      }),
    )

  /** The id of the live hold that a request replaces; null when it replaces none. */
  const findReplaced = async (holder: Holder, { holdId }: HoldRequest): Promise<string | null> => {
    if (holdId === null) return null
    const found = await findHold(db.pool, { ...holder, key: holdId }, new Date(clock()))
    return found?.hold.id ?? null
  }

  /** Locks the holds of the person of a hold, and frees the one that it replaces. */
  const replace = async (client: ClientBase, { profileId, ...hold }: Hold): Promise<void> => {
    if (profileId !== null) {
      if (!(await lockProfile(client, profileId))) throw storeUnavailable(undefined, 1)
      await lockHoldsOfPerson(client, profileId)
    }
    const replaced = await lockReplacedHold(client, hold)
    if (replaced) await releaseHold(client, replaced, hold.createdAt)
  }

  const requireFewHolds = async (client: ClientBase, hold: Hold): Promise<void> => {
    const { profileId, keyKind, createdAt } = hold
    if (profileId === null) return
    const most = holdLimits.perPerson[keyKind]
    if ((await countHoldsOfPerson(client, profileId, createdAt)) < most) return
    throw tooManyHolds('This person', most)
  }

  /** Holds what was chosen, all of it. Resolves to undefined when a part is no longer there. */
  const make = async (
    { projectId, keyKind }: Holder,
    { cart, visitorId, userId, seconds, holdId }: HoldRequest,
    chosen: Computed<unknown>['chosen'],
  ): Promise<Hold | undefined> => {
    const [profileId = null] = await resolveProfiles(db.pool, [{ projectId, visitorId, userId }])
    try {
      return await inTransaction(async (client, createdAt) => {
        const expiresAt = new Date(createdAt.getTime() + seconds * 1000)
        const person = { profileId, visitorId, userId }
        const key = holdId ?? randomUUID()
        const hold = { id: uuidv7(), projectId, key, keyKind, ...person, cart, createdAt, expiresAt }
        await replace(client, hold)
        await requireFewHolds(client, hold)
        const limitsOf = await holdCodes(client, hold, chosen)
        await requireBalances(client, chosen)
        const held = chosen.map(({ coupon: { id, pool }, grant, payment = null }): HeldCoupon => {
          const hasBudget = pool.budget !== null && limitsOf.get(id)?.budgetAmount !== null
          const budgetCharge = hasBudget ? grant.discountAmount : null
          return { couponId: id, poolId: pool.id, grant, budgetCharge, payment }
        })
        if (!(await storeHold(client, hold, held)))
          throw new AppError(
            'bad_request',
            'holdId belongs to a hold that this key may not replace: send another',
          )
        await holdUses(client, hold, held, limitsOf)
        if (!(await countHold(client, projectId, holdLimits.perProject)))
          throw tooManyHolds('This project', holdLimits.perProject)
        return hold
      })
    } catch (error) {
      if (error instanceof NotLeft) return undefined
      throw error
    }
  }

  return {
    /**
     * Computes an answer and holds what it chose for `seconds`. An answer that chose nothing is not held, and leaves a hold
     * that it would replace. `compute` ignores what the hold with the given id reserves.
     * @throws AppError bad_request when the key may not hold it, rate_limited beyond the live holds of a person or project
     */
    hold: async <A extends object>(
      holder: Holder,
      request: HoldRequest,
      compute: (replacedId: string | null) => Promise<Computed<A>>,
    ): Promise<A & Partial<HoldTerms>> => {
      for (let attempt = 1; attempt <= ATTEMPTS; attempt++) {
        const { answer, chosen } = await compute(await findReplaced(holder, request))
        if (chosen.length === 0) return answer
        requireHoldable(holder, request, chosen)
        const isLast = attempt === ATTEMPTS
        try {
          const hold = await make(holder, request, chosen)
          if (hold) return { ...answer, holdId: hold.key, holdExpiresAt: hold.expiresAt }
        } catch (error) {
          // Holds that have ended count until they are removed.
          if (isLast || !(error instanceof AppError && error.code === 'rate_limited')) throw error
          if ((await removeEnded(holder.projectId)) === 0) throw error
          continue
        }
        await removeEnded(holder.projectId)
      }
      throw storeUnavailable(undefined, 1)
    },

    /** Lets a live hold end `seconds` from now. One of a public key ends at most `MAX_HOLD_SECONDS` after it was made. */
    renew: (ref: HoldRef, seconds: number): Promise<HoldTerms | undefined> =>
      inTransaction(async (client, at) => {
        const hold = await lockHold(client, ref, at)
        if (!hold) return undefined
        const wanted = at.getTime() + seconds * 1000
        const latest = hold.createdAt.getTime() + MAX_HOLD_SECONDS * 1000
        const expiresAt = new Date(hold.keyKind === 'pub' ? Math.min(wanted, latest) : wanted)
        await extendHold(client, hold, expiresAt)
        return { holdId: hold.key, holdExpiresAt: expiresAt }
      }),

    /** Returns what a live hold reserves. Resolves to false when there is none. */
    release: (ref: HoldRef): Promise<boolean> =>
      inTransaction(async (client, at) => {
        const hold = await lockHold(client, ref, at)
        if (!hold) return false
        await releaseHold(client, hold, at)
        return true
      }),
  }
}

/** Holds the codes, and reads the limits of all pools. @throws NotLeft */
const holdCodes = async (
  client: ClientBase,
  hold: Hold,
  chosen: Computed<unknown>['chosen'],
): Promise<ReadonlyMap<string, Limits>> => {
  const limitsOf = new Map<string, Limits>()
  for (const { coupon } of chosen.toSorted((a, b) => (a.coupon.id < b.coupon.id ? -1 : 1))) {
    const limits =
      coupon.pool.kind === 'unique' || coupon.pool.kind === 'balance'
        ? await holdCode(client, coupon, hold)
        : await claimCoupon(client, coupon, hold.profileId, hold.createdAt)
    if (!limits) throw new NotLeft()
    limitsOf.set(coupon.id, limits)
  }
  return limitsOf
}

/** Requires that gift cards that are locked by now still hold what they pay. @throws NotLeft */
const requireBalances = async (client: ClientBase, chosen: Computed<unknown>['chosen']): Promise<void> => {
  const paying = chosen.filter(({ payment }) => payment !== undefined)
  const balances = await readBalances(
    client,
    paying.map(({ coupon }) => coupon.id),
  )
  for (const { coupon, payment = 0 } of paying)
    if ((balances.get(coupon.id) ?? 0) < payment) throw new NotLeft()
}

/** Reserves uses and budgets. @throws NotLeft */
const holdUses = async (
  client: ClientBase,
  { profileId }: Hold,
  held: readonly HeldCoupon[],
  limitsOf: ReadonlyMap<string, Limits>,
): Promise<void> => {
  const byPool = held.toSorted((a, b) => (a.poolId < b.poolId ? -1 : 1))
  const limits = ({ couponId }: HeldCoupon): Limits =>
    limitsOf.get(couponId) ?? { perProfileLimit: null, maxRedemptions: null, budgetAmount: null }
  if (profileId !== null)
    for (const one of byPool) {
      const { perProfileLimit } = limits(one)
      if (perProfileLimit !== null) await takeOverCounts(client, one.poolId, profileId)
      if (!(await holdForProfile(client, one.poolId, profileId, perProfileLimit))) throw new NotLeft()
    }
  for (const one of byPool)
    if (!(await holdOfPool(client, one.poolId, limits(one), one.budgetCharge))) throw new NotLeft()
}

const tooManyHolds = (whose: string, most: number): AppError =>
  new AppError(
    'rate_limited',
    `${whose} has ${most} live holds, the most that are allowed: redeem or release one, or wait for its end`,
    { retryAfter: RETRY_AFTER_S },
  )

/**
 * A page knows no prices, and can send any visitor id. So it holds only what its customer has: codes, one cart at a time.
 * Uses of shared codes and promotions, and budgets, are held by servers.
 */
const requireHoldable = (
  { keyKind }: Holder,
  { visitorId, userId }: CartRequest,
  chosen: Computed<unknown>['chosen'],
): void => {
  if (keyKind === 'sec') return
  if (userId !== null || visitorId === null)
    throw new AppError(
      'bad_request',
      'hold with a public key requires the visitorId, and no userId: identify links them',
    )
  if (chosen.some(({ coupon: { pool } }) => pool.kind !== 'unique' || pool.budget !== null))
    throw new AppError(
      'bad_request',
      'hold with a public key is allowed for codes of unique pools without a budget: hold others from your server',
    )
}

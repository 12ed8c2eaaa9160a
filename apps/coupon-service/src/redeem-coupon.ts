import { type CartRefusal, type ClientDevice, type CouponRefusal, storeUnavailable } from '@waymark/contracts'
import { type Commit, type Database, retryConflicts } from '@waymark/database'
import {
  cartRefusalMessage,
  discountCart,
  exceedsBudget,
  needsCart,
  redemptionEventId,
  refusalMessage,
  refusalOf,
  WorkBudget,
} from '@waymark/domain'
import { findShopper, resolveProfiles } from '@waymark/pipeline'
import type { ProjectConfigs } from '@waymark/project-config'
import type { ClientBase } from 'pg'
import { v7 as uuidv7 } from 'uuid'
import { type Coupon, findCoupon, findCoupons, viewCoupon } from './coupon-queries.ts'
import { type Answer, answerOnce, type IdempotentRequest } from './idempotency-queries.ts'
import {
  type Charge,
  claimCoupon,
  countForPool,
  countForProfile,
  type Granted,
  lockProfile,
  type Redeem,
  type Redemption,
  storeAttempt,
  storeRedemption,
} from './redemption-queries.ts'
import { publishRedemption, type RecordConfig } from './redemption-records.ts'

/**
 * The project of the key and the device of the request, if known. `hidesProfile` for public keys, which must not learn
 * which ids belong to one profile.
 */
export type Redeemer = { projectId: string; device: ClientDevice; hidesProfile?: boolean }
/** The idempotency key of a request and a hash of its body. */
type Idempotency = Pick<IdempotentRequest, 'key' | 'requestHash'>

/** How long a request waits for concurrent redemptions, in ms, before the answer is 503. */
const LOCK_TIMEOUT_MS = 2_000

/**
 * Redeems coupons. All changes of a redemption and its stored answer are one transaction. Locks are taken in one order:
 * idempotency key, coupon, profile, pool, so that the most contended row is locked last.
 */
export const createRedeemCoupon = ({
  db,
  projectConfigs,
  clock,
}: {
  db: Database
  projectConfigs: ProjectConfigs
  clock: () => number
}) => {
  const resolve = async (projectId: string, { visitorId, userId }: Redeem): Promise<string | null> => {
    const [profileId = null] = await resolveProfiles(db.pool, [{ projectId, visitorId, userId }])
    return profileId
  }

  /** What the coupon grants for the cart of a request, or why not; undefined without a cart. */
  const outcomeOf = async (coupon: Coupon, request: Redeem): Promise<CartOutcome | undefined> => {
    const { cart, userId, visitorId } = request
    if (!cart) return undefined
    const { projectId, normalizedCode: code, pool } = coupon
    const isNamed = userId !== null || visitorId !== null
    const [others, known] = await Promise.all([
      findCoupons(
        db.pool,
        projectId,
        cart.otherCodes.filter((other) => other !== code),
      ),
      isNamed && needsShopper(coupon) ? findShopper(db.pool, { projectId, userId, visitorId }) : undefined,
    ])
    // The others may be redeemed by now, so neither their state nor their budget matters.
    const rest = others.map(({ normalizedCode, pool }) => ({
      code: normalizedCode,
      pool: { ...pool, budget: null },
    }))
    const shopper = isNamed ? (known ?? { traits: {}, hasOrdered: false }) : undefined
    const [outcome] = discountCart(cart, [{ code, pool }, ...rest], shopper, new WorkBudget())
    if (!outcome || 'refusal' in outcome) return outcome
    const { discountAmount, shippingDiscountAmount, items } = outcome.grant
    return {
      granted: {
        discountAmount,
        shippingDiscountAmount,
        items: cart.items.map((item, place) => ({ ...item, discountAmount: items[place] ?? 0 })),
      },
    }
  }

  /** @throws AppError unprocessable when the idempotency key belongs to another request */
  return async (
    { projectId, device, hidesProfile = false }: Redeemer,
    request: Redeem,
    idempotency?: Idempotency,
  ): Promise<Answer & { replayed: boolean }> => {
    const coupon = request.code === undefined ? undefined : await findCoupon(db.pool, projectId, request.code)
    if (!coupon && !idempotency) return { ...NOT_FOUND, replayed: false }
    const config = await projectConfigs.get(projectId)
    // Only for an existing coupon, so that guessed codes create no profiles.
    const profileId = coupon ? await resolve(projectId, request) : null
    const outcome = coupon && (await outcomeOf(coupon, request))

    const answerWith = (decide: (coupon: Coupon, attempt: Attempt) => Promise<Answer>) =>
      db.transaction(
        async (client, commit) => {
          const at = new Date(clock())
          const work = async (commitEarly?: Commit) => {
            if (!coupon) return NOT_FOUND
            if (profileId !== null && !(await lockProfile(client, profileId)))
              throw storeUnavailable(undefined, 1)
            const attempt = {
              ...{ client, commitEarly, request, profileId, outcome, at, device, config, hidesProfile },
            }
            return decide(coupon, attempt)
          }
          if (!idempotency) return { ...(await work(commit)), replayed: false }
          return answerOnce({ client, commit }, { projectId, ...idempotency, at }, () => work())
        },
        { lockTimeoutMs: LOCK_TIMEOUT_MS },
      )

    return retryConflicts(async () => {
      try {
        return await answerWith(redeem)
      } catch (error) {
        if (!(error instanceof LimitReached)) throw error
        return await answerWith(refuse)
      }
    })
  }
}

/** What a coupon grants for a cart, or why it does not apply to it. */
type CartOutcome = { granted: Granted } | { refusal: CartRefusal }

type Attempt = {
  client: ClientBase
  /** Undefined when the answer is stored in the same transaction. */
  commitEarly: Commit | undefined
  request: Redeem
  profileId: string | null
  /** Undefined without a cart. */
  outcome: CartOutcome | undefined
  at: Date
  device: ClientDevice
  config: RecordConfig
  hidesProfile: boolean
}

/** A limit was reached after a change, which must be rolled back. */
class LimitReached extends Error {}

/** Redeems the coupon, or answers why it cannot be redeemed. @throws LimitReached */
const redeem = async (coupon: Coupon, attempt: Attempt): Promise<Answer> => {
  const { client, commitEarly, request, profileId, outcome, at, device, config } = attempt
  const { projectId, pool } = coupon
  if (outcome === undefined ? needsCart(pool) : 'refusal' in outcome) return refuse(coupon, attempt)
  const granted = outcome && 'granted' in outcome ? outcome.granted : undefined
  const limits = await claimCoupon(client, coupon, profileId, at)
  if (!limits) {
    const current = await readAgain(coupon, attempt)
    const becameAvailable = refusalOf(coupon, at.getTime()) && !refusalOf(current, at.getTime())
    return becameAvailable ? redeem(current, attempt) : refuseBy(current, attempt)
  }
  if (profileId !== null && !(await countForProfile(client, pool.id, profileId, limits.perProfileLimit)))
    throw new LimitReached()
  const redemption = redemptionOf(coupon, request, profileId, at)
  const charge: Charge | undefined =
    granted && pool.budget && limits.budgetAmount !== null
      ? { discountAmount: granted.discountAmount, budgetAmount: limits.budgetAmount }
      : undefined
  // Created before either is sent, so that an error cannot commit only one of them.
  const statements = [
    storeRedemption(projectId, redemption, granted, charge),
    publishRedemption(coupon, redemption, granted, config, device),
  ]
  const stored = statements.map((statement) => client.query(statement))
  const counted = countForPool(client, pool.id, limits.maxRedemptions, charge)
  // Without a limit the commit need not wait for the count, which releases the contended row earlier.
  const committed = limits.maxRedemptions === null && !charge ? commitEarly?.() : undefined
  const [count] = await Promise.all([counted, committed, ...stored])
  if (count === undefined) throw new LimitReached()
  const now: Coupon = {
    ...coupon,
    ...(pool.kind === 'unique' && { status: 'redeemed', redeemedAt: at }),
    // The claim succeeded, so the pool is ready even if it was not when it was read.
    pool: { ...pool, status: 'ready', ...limits, redeemed: count },
  }
  return answer(200, {
    ok: true,
    coupon: viewCoupon(now, at.getTime()),
    redemption: {
      ...(attempt.hidesProfile ? { ...redemption, profileId: null } : redemption),
      ...(granted && viewGranted(granted)),
    },
  })
}

const viewGranted = ({ items, ...amounts }: Granted) => ({
  ...amounts,
  items: items.map(({ sku, discountAmount }) => ({ sku, discountAmount })),
})

/** Whether the rules of a coupon depend on the person. */
const needsShopper = ({ pool: { rules } }: Coupon): boolean =>
  rules?.firstOrderOnly === true || (rules?.condition ?? null) !== null

const redemptionOf = (
  { id: couponId, pool }: Coupon,
  { code: _code, eventId: relatedEventId, cart: _cart, ...rest }: Redeem,
  profileId: string | null,
  redeemedAt: Date,
): Redemption => {
  const id = uuidv7()
  return {
    id,
    couponId,
    poolId: pool.id,
    profileId,
    ...rest,
    eventId: redemptionEventId(id),
    relatedEventId,
    redeemedAt,
  }
}

const readAgain = async (coupon: Coupon, { client, request }: Attempt): Promise<Coupon> => {
  const known =
    request.code === undefined ? undefined : await findCoupon(client, coupon.projectId, request.code)
  return known ?? coupon
}

const refuse = async (coupon: Coupon, attempt: Attempt): Promise<Answer> =>
  refuseBy(await readAgain(coupon, attempt), attempt)

/** Answers why a coupon in its current state cannot be redeemed, and stores the attempt. */
const refuseBy = async (current: Coupon, attempt: Attempt): Promise<Answer> => {
  const { client, request, profileId, outcome, at } = attempt
  const refusal = refusalOf(current, at.getTime())
  const lacksPerson = profileId === null && current.pool.perProfileLimit !== null
  if (!refusal && lacksPerson && current.assignedProfileId === null)
    return provisional(400, { error: 'This coupon is limited per person: userId or visitorId is required' })
  if (!refusal && outcome === undefined && needsCart(current.pool))
    return provisional(400, {
      error: 'This coupon has rules or a budget: items and currency are required, as for validate',
    })
  const cartRefusal = outcome && cartRefusalOf(current, outcome)
  if (!refusal && cartRefusal === 'person_required')
    return provisional(400, { error: cartRefusalMessage[cartRefusal] })
  // Without a refusal the coupon is assigned to another person, or the person's limit is reached.
  const reason: CouponRefusal | CartRefusal = refusal ?? cartRefusal ?? 'already_redeemed'
  await storeAttempt(client, current, { ...request, reason, profileId, at })
  const refused = { error: messageOf[reason], reason }
  return reason === 'pool_not_ready' ? provisional(409, refused) : answer(409, refused)
}

const messageOf = { ...refusalMessage, ...cartRefusalMessage }

/** Why a coupon does not apply to a cart, with the budget in its current state. */
const cartRefusalOf = ({ pool }: Coupon, outcome: CartOutcome): CartRefusal | undefined => {
  if ('refusal' in outcome) return outcome.refusal
  return exceedsBudget(pool, outcome.granted.discountAmount) ? 'budget_exhausted' : undefined
}

const answer = (status: number, body: object): Answer => ({ status, body: JSON.stringify(body) })

const provisional = (status: number, body: object): Answer => ({ ...answer(status, body), provisional: true })

const NOT_FOUND = provisional(404, { error: 'Not found' })

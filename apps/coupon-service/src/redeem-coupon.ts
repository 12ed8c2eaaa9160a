import { storeUnavailable } from '@waymark/contracts/app-error'
import type { CartRefusal } from '@waymark/contracts/coupon'
import type { ClientDevice } from '@waymark/contracts/records/ingest-record'
import { REDEMPTION_LOCK_TIMEOUT_MS } from '@waymark/contracts/request-budget'
import { type Commit, type Database, retryConflicts } from '@waymark/database'
import { refusalOf } from '@waymark/domain/coupon'
import { redemptionEventId } from '@waymark/domain/ingestion'
import { findShopper, lockOrderId, resolveProfiles } from '@waymark/pipeline'
import type { ProjectConfigs } from '@waymark/project-config'
import { v7 as uuidv7 } from 'uuid'
import { discountWanted, needsShopper, refusedOf, type Wanted } from './cart-outcome.ts'
import { createRemoveEndedHolds } from './hold-cart.ts'
import { returnToProject, takeHold } from './hold-queries.ts'
import {
  type Answer,
  answer,
  answerOnce,
  type IdempotentRequest,
  provisional,
} from './idempotency-queries.ts'
import { cardRequestRefusal, type OrderPaid, payOrder, viewPaidCard, viewPayments } from './pay-order.ts'
import { planPoints } from './planned-points.ts'
import { findHeld, HOLD_ENDED, orderRefusalOf, requestOf, returnBudgets, returnUses } from './redeem-hold.ts'
import {
  type Coupon,
  findCoupon,
  findCoupons,
  findPromotions,
  type GiftCard,
  isGiftCard,
  viewCoupon,
} from './redeemable-coupon-queries.ts'
import {
  type Charge,
  claimCoupon,
  countForPool,
  countForProfile,
  type Granted,
  type Limits,
  lockCard,
  lockProfile,
  type Redeem,
  type Redemption,
  storeRedemption,
} from './redemption-queries.ts'
import { publishRedemption } from './redemption-records.ts'
import { type Attempt, readAgain, refuse, refuseBy } from './redemption-refusal.ts'
import { inSegments } from './shopper-segments.ts'
import {
  NO_PROGRAMME,
  type OrderPoints,
  PointsRefused,
  refusedPoints,
  spendOrderPoints,
  viewPoints,
} from './spend-points.ts'
import { stateRefusalOf, withCounts } from './state-refusal.ts'

/**
 * The project of the key and the device of the request, if known. `hidesProfile` for public keys, which must not learn
 * which ids belong to one profile.
 */
export type Redeemer = { projectId: string; device: ClientDevice; hidesProfile?: boolean }
/** The idempotency key of a request, the kind of its API key and a hash of its body. */
type Idempotency = Pick<IdempotentRequest, 'key' | 'keyKind' | 'requestHash'>

/**
 * Redeems the coupons of a request, all of them or none. All changes and the stored answer are one transaction. Locks are
 * taken in one order: idempotency key, profile, order, hold, coupons, counts of the profile, accounts of points, pools, so that the most
 * contended rows are locked last. Several coupons and pools are locked in the order of their ids.
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
  const removeEndedHolds = createRemoveEndedHolds({ db, clock })
  const resolve = async (projectId: string, { visitorId, userId }: Redeem): Promise<string | null> => {
    const [profileId = null] = await resolveProfiles(db.pool, [{ projectId, visitorId, userId }])
    return profileId
  }

  /** The requested coupons and promotions, or the answer that one does not exist. */
  const findRequested = async (
    projectId: string,
    { codes, promotions, isList }: Redeem,
    at: Date,
  ): Promise<Coupon[] | Answer> => {
    const known = codes.filter((code) => code !== undefined)
    const [code] = known
    if (!isList) {
      const coupon = code === undefined ? undefined : await findCoupon(db.pool, projectId, code, { at })
      return coupon ? [coupon] : NOT_FOUND
    }
    const [found, automatic] = await Promise.all([
      findCoupons(db.pool, projectId, known, { at }),
      findPromotions(db.pool, projectId, promotions, { at }),
    ])
    const byCode = new Map(found.map((coupon) => [coupon.normalizedCode, coupon]))
    const coupons = codes.map((code) => (code === undefined ? undefined : byCode.get(code)))
    // Only the first one, so that a list does not help to guess codes.
    const missing = coupons.indexOf(undefined)
    if (missing >= 0) return provisional(404, { error: `codes.${missing} is not a coupon of this project` })
    const byId = new Map(automatic.map((promotion) => [promotion.id, promotion]))
    const named = promotions.map((id) => byId.get(id))
    const unknown = named.indexOf(undefined)
    if (unknown >= 0)
      return provisional(404, {
        error: `promotions.${unknown} is not an automatic promotion of this project`,
      })
    return [...coupons, ...named].filter((coupon) => coupon !== undefined)
  }

  /** @throws AppError unprocessable when the idempotency key belongs to another request */
  return async (
    { projectId, device, hidesProfile = false }: Redeemer,
    sent: Redeem,
    idempotency?: Idempotency,
  ): Promise<Answer & { replayed: boolean }> => {
    const { holdId } = sent
    const readAt = new Date(clock())
    const held =
      holdId === null
        ? undefined
        : await findHeld(db.pool, { projectId, key: holdId, keyKind: hidesProfile ? 'pub' : 'sec' }, readAt)
    const request = held ? requestOf(sent, held.hold) : sent
    const ofHold = held ? [...held.wanted, ...held.payments].map(({ coupon }) => coupon) : HOLD_ENDED
    const found = holdId === null ? await findRequested(projectId, request, readAt) : ofHold
    const all = Array.isArray(found) ? found : []
    const cards = all.filter(isGiftCard)
    const config = await projectConfigs.get(projectId)
    const { points } = request
    const plan = points && planPoints(config.loyaltyProgrammes, points, request.currency)
    const refused = pointRefusalOf(plan, hidesProfile)
    const requested =
      (holdId === null && cardRequestRefusal(cards, request, hidesProfile)) ||
      (Array.isArray(found) && refused) ||
      found
    const coupons = Array.isArray(requested) ? all.filter((coupon) => !isGiftCard(coupon)) : []
    if (!Array.isArray(requested) && !idempotency) return { ...requested, replayed: false }
    // Only for existing coupons, so that guessed codes create no profiles.
    const profileId = Array.isArray(requested) ? await resolve(projectId, request) : null
    const { userId, visitorId, cart } = request
    const shopper =
      cart && !held && coupons.some(needsShopper)
        ? await inSegments(db.pool, projectConfigs, {
            projectId,
            shopper: await findShopper(db.pool, { projectId, userId, visitorId }),
            coupons,
            now: clock(),
          })
        : undefined

    const answerWith = (decide: (wanted: readonly Wanted[], attempt: Attempt) => Promise<Answer>) =>
      db.transaction(
        async (client, commit) => {
          const at = new Date(clock())
          const work = async (commitEarly?: Commit) => {
            if (!Array.isArray(requested)) return requested
            if (profileId !== null && !(await lockProfile(client, profileId)))
              throw storeUnavailable(undefined, 1)
            const refusal =
              held &&
              (await orderRefusalOf(client, held, request.orderId, config.loyaltyProgrammes.length > 0))
            if (refusal) return refusal
            const { orderId } = request
            if ((cards.length > 0 || points) && orderId !== null)
              await lockOrderId(client, projectId, orderId)
            const discounted = held
              ? { wanted: held.wanted, grantedBefore: 0 }
              : await discountWanted(client, projectId, coupons, request, shopper)
            if (!discounted) return OTHER_ITEMS
            const { wanted, grantedBefore } = discounted
            return decide(wanted, {
              cards,
              projectId,
              programmes: config.loyaltyProgrammes,
              planned: plan && 'rate' in plan ? plan : undefined,
              grantedBefore,
              client,
              held,
              commitEarly,
              request,
              profileId,
              at,
              device,
              config,
              hidesProfile,
            })
          }
          if (!idempotency) return { ...(await work(commit)), replayed: false }
          return answerOnce({ client, commit }, { projectId, ...idempotency, at }, () => work())
        },
        { lockTimeoutMs: REDEMPTION_LOCK_TIMEOUT_MS },
      )

    return retryConflicts(async () => {
      for (;;) {
        try {
          return await answerWith(redeem)
        } catch (error) {
          if (error instanceof PointsRefused) return { ...refusedPoints(error.refusal), replayed: false }
          if (!(error instanceof LimitReached)) throw error
          // Holds that have ended count until they are removed.
          if ((await removeEndedHolds(projectId)) > 0) continue
          const { couponId, refusal } = error
          const card = cards.find(({ id }) => id === couponId)
          const ofCard = card && { coupon: card, outcome: refusal && { refusal } }
          return await answerWith((wanted, attempt) =>
            refuse(ofCard ?? wanted.find(({ coupon }) => coupon.id === couponId) ?? first(wanted), attempt),
          )
        }
      }
    })
  }
}

/** A coupon cannot be redeemed after a change, which must be rolled back. */
class LimitReached extends Error {
  readonly couponId: string
  /** Why a gift card does not pay, if its state allows it. */
  readonly refusal: CartRefusal | undefined

  constructor({ id }: Coupon, refusal?: CartRefusal) {
    super()
    this.couponId = id
    this.refusal = refusal
  }
}

/** Why a request to spend points is refused before anything is read. `plan`: null when it spends none. */
const pointRefusalOf = (
  plan: ReturnType<typeof planPoints> | null,
  isPublic: boolean,
): Answer | undefined => {
  if (plan === null) return undefined
  if (isPublic) return refusedPoints('secret_key_required')
  if (plan === undefined) return NO_PROGRAMME
  return 'refusal' in plan ? refusedPoints(plan.refusal) : undefined
}

const first = (wanted: readonly Wanted[]): Wanted => {
  const [one] = wanted
  if (!one) throw new Error('a request to redeem has no code')
  return one
}

type Claim = Wanted & { limits: Limits; charge: Charge | undefined }

/** Redeems the coupons, or answers why one of them cannot be redeemed. @throws LimitReached */
const redeem = async (wanted: readonly Wanted[], attempt: Attempt): Promise<Answer> => {
  const { client, commitEarly, profileId, held } = attempt
  if (held && !(await takeHold(client, held.hold, attempt.at))) return HOLD_ENDED
  const refused = refusedOf(wanted, attempt.at.getTime())
  if (refused) return refuse((await unavailableOf(wanted, attempt)) ?? refused, attempt)
  const claims: Claim[] = []
  const cardsToLock = attempt.cards.map((coupon) => ({ coupon, outcome: undefined }))
  for (const one of inOrderOf([...wanted, ...cardsToLock], ({ coupon }) => coupon.id)) {
    if (isGiftCard(one.coupon)) {
      await lockPayingCard(one.coupon, attempt)
      continue
    }
    const limits = await claimCoupon(client, one.coupon, profileId, attempt.at, held?.hold.id)
    if (!limits) return claimFailed(wanted, one, attempt)
    claims.push({ ...one, limits, charge: chargeOf(one, limits) })
  }
  const byPool = inOrderOf(claims, ({ coupon }) => coupon.pool.id)
  if (held) await returnUses(client, held)
  if (profileId !== null)
    for (const { coupon, limits } of byPool)
      if (!(await countForProfile(client, coupon.pool.id, profileId, limits.perProfileLimit)))
        throw new LimitReached(coupon)
  const discounted = claims.reduce((sum, { outcome }) => sum + (grantedBy(outcome)?.discountAmount ?? 0), 0)
  const granted = attempt.grantedBefore + discounted
  const points = await spendOrderPoints(attempt, granted)
  const paid = await payOrder(attempt, attempt.cards, granted + points.reduced)
  if ('refusal' in paid) throw new LimitReached(paid.coupon, paid.refusal)
  const made = claims.map((claim) => ({ ...claim, redemption: redemptionOf(claim.coupon, attempt) }))
  // Created before any is sent, so that an error cannot commit only some of them.
  const statements = made.flatMap(({ coupon, redemption, outcome, charge }) => {
    const granted = grantedBy(outcome)
    return [
      storeRedemption(coupon.projectId, redemption, granted, charge),
      publishRedemption(coupon, redemption, granted, attempt.config, attempt.device),
    ]
  })
  const stored = statements.map((statement) => client.query(statement))
  if (held) await returnBudgets(client, held)
  const counted = byPool.map(({ coupon, limits, charge }) =>
    countForPool(client, coupon.pool.id, limits.maxRedemptions, charge),
  )
  // Without a limit the commit need not wait for the count, which releases the contended row earlier.
  const isLimited =
    held ||
    attempt.cards.length > 0 ||
    points.spent ||
    claims.some(({ limits, charge }) => limits.maxRedemptions !== null || charge)
  const committed = isLimited ? undefined : commitEarly?.()
  const [counts] = await Promise.all([Promise.all(counted), committed, ...stored])
  if (held) await returnToProject(client, held.hold.projectId)
  const countOf = new Map(byPool.map(({ coupon }, index) => [coupon.id, counts[index]]))
  for (const { coupon } of claims) if (countOf.get(coupon.id) === undefined) throw new LimitReached(coupon)
  const views = new Map(
    made.map((one) => [one.coupon.id, viewRedeemed(one, countOf.get(one.coupon.id) ?? 0, attempt)]),
  )
  const redemptions = wanted.map(({ coupon }) => views.get(coupon.id) ?? {})
  return answer(200, { ok: true, ...viewAnswer({ wanted, redemptions, points, paid }, attempt) })
}

const viewAnswer = (
  {
    wanted,
    redemptions,
    points,
    paid,
  }: { wanted: readonly Wanted[]; redemptions: object[]; points: OrderPoints; paid: OrderPaid },
  attempt: Attempt,
): object => {
  if (attempt.request.isList)
    return {
      ...viewSum(wanted, attempt.request),
      redemptions,
      ...viewPoints(points),
      ...viewPayments(paid, attempt),
    }
  return redemptions[0] ?? viewPaidCard(paid, attempt)
}

/** Locks a gift card that is to pay. @throws LimitReached when it cannot be used */
const lockPayingCard = async (coupon: GiftCard, attempt: Attempt): Promise<void> => {
  const { client, profileId, at, held } = attempt
  if (await lockCard(client, coupon, profileId, at, held?.hold.id)) return
  const current = await readAgain(coupon, attempt)
  throw refusalOf(current, at.getTime()) ? new LimitReached(coupon) : storeUnavailable(undefined, 1)
}

/** Of several coupons, the first that this person cannot redeem with any cart: others may only not combine with it. */
const unavailableOf = async (
  wanted: readonly Wanted[],
  { client, request, at }: Attempt,
): Promise<Wanted | undefined> => {
  if (wanted.length === 1) return undefined
  const { projectId } = first(wanted).coupon
  const shopper = await findShopper(client, { ...request, projectId })
  const coupons = wanted.map(({ coupon }) => coupon)
  const person = await withCounts(client, coupons, shopper, { at })
  return wanted.find(({ coupon }) => stateRefusalOf(coupon, person, at.getTime()))
}

const inOrderOf = <T>(all: readonly T[], idOf: (one: T) => string): T[] =>
  all.toSorted((a, b) => (idOf(a) < idOf(b) ? -1 : 1))

/** A coupon that became available since it was read is tried again, where nothing was changed. */
const claimFailed = async (wanted: readonly Wanted[], failed: Wanted, attempt: Attempt): Promise<Answer> => {
  const { coupon } = failed
  const current = await readAgain(coupon, attempt)
  const now = attempt.at.getTime()
  const becameAvailable = refusalOf(coupon, now) && !refusalOf(current, now)
  if (wanted.length > 1 || attempt.held)
    throw becameAvailable ? storeUnavailable(undefined, 1) : new LimitReached(coupon)
  return becameAvailable
    ? redeem([{ ...failed, coupon: current }], attempt)
    : refuseBy({ ...failed, coupon: current }, attempt)
}

const grantedBy = (outcome: Wanted['outcome']): Granted | undefined =>
  outcome && 'granted' in outcome ? outcome.granted : undefined

const chargeOf = ({ coupon, outcome }: Wanted, { budgetAmount }: Limits): Charge | undefined => {
  const granted = grantedBy(outcome)
  return granted && coupon.pool.budget && budgetAmount !== null
    ? { discountAmount: granted.discountAmount, budgetAmount }
    : undefined
}

const viewRedeemed = (
  { coupon, limits, outcome, redemption }: Claim & { redemption: Redemption },
  redeemed: number,
  { at, hidesProfile }: Attempt,
) => {
  const { pool } = coupon
  const now: Coupon = {
    ...coupon,
    ...(pool.kind === 'unique' && { status: 'redeemed', redeemedAt: at }),
    // The claim succeeded, so the pool is ready even if it was not when it was read.
    pool: { ...pool, status: 'ready', ...limits, redeemed },
  }
  const granted = grantedBy(outcome)
  return {
    coupon: viewCoupon(now, at.getTime()),
    redemption: {
      ...(hidesProfile ? { ...redemption, profileId: null } : redemption),
      ...(granted && viewGranted(granted)),
    },
  }
}

const viewGranted = ({ items, ...amounts }: Granted) => ({
  ...amounts,
  items: items.map(({ sku, discountAmount }) => ({ sku, discountAmount })),
})

/** The sum of what coupons grant for one cart. */
const viewSum = (wanted: readonly Wanted[], { cart }: Redeem) => {
  const [one, ...others] = wanted.flatMap(({ outcome }) => grantedBy(outcome) ?? [])
  if (!one)
    return {
      discountAmount: 0,
      shippingDiscountAmount: 0,
      items: (cart?.items ?? []).map(({ sku }) => ({ sku, discountAmount: 0 })),
    }
  const sum = others.reduce(
    (sum, granted): Granted => ({
      discountAmount: sum.discountAmount + granted.discountAmount,
      shippingDiscountAmount: sum.shippingDiscountAmount + granted.shippingDiscountAmount,
      items: sum.items.map((item, index) => ({
        ...item,
        discountAmount: item.discountAmount + (granted.items[index]?.discountAmount ?? 0),
      })),
    }),
    one,
  )
  return viewGranted(sum)
}

const redemptionOf = ({ id: couponId, pool }: Coupon, { request, profileId, at }: Attempt): Redemption => {
  const {
    codes: _codes,
    promotions: _promotions,
    isList: _isList,
    holdId: _holdId,
    eventId: relatedEventId,
    cart: _cart,
    points: _points,
    ...rest
  } = request
  const id = uuidv7()
  return {
    id,
    couponId,
    poolId: pool.id,
    profileId,
    ...rest,
    eventId: redemptionEventId(id),
    relatedEventId,
    redeemedAt: at,
  }
}

const NOT_FOUND = provisional(404, { error: 'Not found' })
const OTHER_ITEMS = provisional(400, {
  error:
    'items and currency must be those of the earlier redemptions of this orderId: roll these back first, or redeem with another orderId',
})

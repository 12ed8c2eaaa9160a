import { decimalOf } from '@waymark/contracts/amount-text'
import type { ApiKeyKind } from '@waymark/contracts/api-key'
import type { CodeRefusal } from '@waymark/contracts/http/coupon-operations'
import { type Grant, type Missing, type Qualification, qualifyCart } from '@waymark/domain/coupon'
import { findShopper } from '@waymark/pipeline'
import type { ProjectConfigs } from '@waymark/project-config'
import { type CorePlatform, LoopTurns } from '@waymark/service-kit'
import { chosenPayments, payCart } from './cart-payments.ts'
import type { CartContents, Computed } from './cart-request.ts'
import { type Coupon, findCoupons, findReadyPromotions, isGiftCard } from './redeemable-coupon-queries.ts'
import { CODE_MESSAGES, normalizedCodes, type RequestedCode, requestedCodes } from './requested-codes.ts'
import { inSegments } from './shopper-segments.ts'
import { previewPoints } from './spend-points.ts'
import { stateRefusalOf, withCounts } from './state-refusal.ts'

/** A coupon or promotion that is considered for a cart. */
type Candidate = { code: string; pool: Coupon['pool']; coupon: Coupon }

/** Finds the promotions and codes that apply to a cart, and the best combination of them. Changes nothing. */
export const createQualifyCart =
  ({
    db: { pool: db },
    projectConfigs,
    clock,
  }: Pick<CorePlatform, 'db' | 'clock'> & { projectConfigs: ProjectConfigs }) =>
  async (
    projectId: string,
    { codes: texts, userId, visitorId, cart, points: wanted }: CartContents,
    replacedId: string | null = null,
    keyKind: ApiKeyKind = 'pub',
  ) => {
    const now = clock()
    const seen = { at: new Date(now), replacedId }
    const [found, promotions, known] = await Promise.all([
      findCoupons(db, projectId, normalizedCodes(texts), seen),
      findReadyPromotions(db, projectId, seen),
      findShopper(db, { projectId, userId, visitorId }),
    ])
    const coupons = [...found, ...promotions]
    const shopper = await inSegments(db, projectConfigs, { projectId, shopper: known, coupons, now })
    const person = await withCounts(db, coupons, shopper, seen)
    const codes = requestedCodes(texts, found, { person, now, currency: cart.currency, keyKind })
    const applicable = codes.flatMap((code) => ('coupon' in code ? [code.coupon] : []))
    const candidates = [
      ...promotions.filter((promotion) => stateRefusalOf(promotion, person, now) === undefined),
      ...applicable.filter((coupon) => !isGiftCard(coupon)),
    ].map((coupon): Candidate => ({ code: coupon.normalizedCode, pool: coupon.pool, coupon }))
    const { qualifications, best } = await qualifyCart(cart, candidates, shopper, new LoopTurns())

    const qualificationOf = new Map(candidates.map(({ coupon }, index) => [coupon, qualifications[index]]))
    const considered = promotions.flatMap((promotion) => {
      const qualification = qualificationOf.get(promotion)
      return qualification ? [{ promotion, qualification }] : []
    })
    const shownBest = viewBest(cart.items, best)
    const { discountAmount } = shownBest
    const points =
      wanted &&
      (await previewPoints(db, (await projectConfigs.get(projectId)).loyaltyProgrammes, {
        wanted,
        profileIds: known?.profileIds ?? [],
        cart,
        discountAmount,
        at: seen.at,
      }))
    const { paid, view } = payCart(
      applicable.filter(isGiftCard),
      cart,
      discountAmount + (points?.amount ?? 0),
    )
    const answer = {
      best: shownBest,
      ...(points && { points }),
      ...view,
      promotions: considered.flatMap(({ promotion, qualification }) =>
        'grant' in qualification ? [{ ...viewTerms(promotion), ...viewGrant(qualification.grant) }] : [],
      ),
      codes: codes.map((code) =>
        viewCode(code, 'coupon' in code ? qualificationOf.get(code.coupon) : undefined, cart.items.length),
      ),
      nearMisses: considered.flatMap(({ promotion, qualification }) =>
        'missing' in qualification && qualification.missing
          ? [
              {
                ...viewTerms(promotion),
                missing: qualification.missing,
                message: messageOf(qualification.missing, cart.currency),
              },
            ]
          : [],
      ),
    }
    const chosen = [
      ...[...best].map(([{ coupon }, grant]) => ({ coupon, grant })),
      ...chosenPayments(paid, cart),
    ]
    return { answer, chosen } satisfies Computed<typeof answer>
  }

const viewTerms = ({ pool: { id, name, discount, stackable, priority } }: Coupon) => ({
  id,
  name,
  discount,
  stackable,
  priority,
})

const viewGrant = ({ discountAmount, shippingDiscountAmount, items }: Grant) => ({
  discountAmount,
  shippingDiscountAmount,
  itemDiscounts: [...items],
})

const viewBest = (items: readonly { sku: string }[], best: ReadonlyMap<Candidate, Grant>) => {
  const sum = (of: (grant: Grant) => number) =>
    [...best.values()].reduce((total, grant) => total + of(grant), 0)
  const chosen = [...best].map(([{ coupon }, grant]) => ({ coupon, shown: viewGrant(grant) }))
  return {
    discountAmount: sum((grant) => grant.discountAmount),
    shippingDiscountAmount: sum((grant) => grant.shippingDiscountAmount),
    items: items.map(({ sku }, index) => ({ sku, discountAmount: sum((grant) => grant.items[index] ?? 0) })),
    promotions: chosen.flatMap(({ coupon: { id, code }, shown }) =>
      code === null ? [{ id, ...shown }] : [],
    ),
    codes: chosen.flatMap(({ coupon: { code }, shown }) => (code === null ? [] : [{ code, ...shown }])),
  }
}

/** A code in the answer. */
type ViewedCode = ReturnType<typeof viewGrant> & {
  code: string
  valid: boolean
  reason?: CodeRefusal
  message?: string
  missing?: Missing
}

const viewCode = (
  code: RequestedCode,
  qualification: Qualification | undefined,
  lines: number,
): ViewedCode => {
  const display = 'coupon' in code ? code.coupon.code : code.display
  if (qualification && 'grant' in qualification)
    return { code: display, valid: true, ...viewGrant(qualification.grant) }
  const nothing = { discountAmount: 0, shippingDiscountAmount: 0, items: Array<number>(lines).fill(0) }
  if ('coupon' in code && isGiftCard(code.coupon))
    return { code: display, valid: true, ...viewGrant(nothing) }
  const reason = 'refusal' in code ? code.refusal : (qualification?.refusal ?? 'not_found')
  const missing = qualification?.missing
  return {
    code: display,
    valid: false,
    reason,
    message: CODE_MESSAGES[reason],
    ...(missing && { missing }),
    ...viewGrant(nothing),
  }
}

/** What is missing, in words, with the amount as a decimal of its currency. */
const messageOf = ({ amount, quantity }: Missing, currency: string): string =>
  [
    ...(amount === undefined ? [] : [`${decimalOf(amount, currency)} ${currency} more`]),
    ...(quantity === undefined ? [] : [`${quantity} more ${quantity === 1 ? 'item' : 'items'}`]),
  ].join(' and ')

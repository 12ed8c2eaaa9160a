import type { CodeRefusal } from '@waymark/contracts'
import {
  type Cart,
  type CouponOutcome,
  cartRefusalMessage,
  discountCart,
  normalizeCode,
  refusalMessage,
  refusalOf,
  WorkBudget,
} from '@waymark/domain'
import { countsOfShopper, findShopper, type KnownShopper } from '@waymark/pipeline'
import type { CorePlatform } from '@waymark/service-kit'
import { type Coupon, findCoupons } from './coupon-queries.ts'

/** A cart, the codes as they were entered, and the person by their ids, if known. */
export type CartRequest = {
  codes: readonly string[]
  userId: string | null
  visitorId: string | null
  cart: Cart
}

/** A code of a request: its coupon, or why there is none to consider. */
type Code = { text: string; coupon: Coupon } | { text: string; refusal: CodeRefusal; display: string }

const MESSAGES: Record<CodeRefusal, string> = {
  ...refusalMessage,
  ...cartRefusalMessage,
  not_found: 'There is no such coupon',
  duplicate: 'The code occurs twice',
}

/** Computes what codes would grant for a cart. Changes nothing, and creates no profile. */
export const createValidateCart =
  ({ db: { pool: db }, clock }: Pick<CorePlatform, 'db' | 'clock'>) =>
  async (projectId: string, { codes: texts, userId, visitorId, cart }: CartRequest) => {
    const normalized = texts.map((text) => normalizeCode(text))
    const wanted = [...new Set(normalized)].filter((code) => code !== undefined)
    const isNamed = userId !== null || visitorId !== null
    const [found, shopper] = await Promise.all([
      findCoupons(db, projectId, wanted),
      isNamed ? findShopper(db, { projectId, userId, visitorId }) : undefined,
    ])
    const limited = found.filter(({ pool }) => pool.perProfileLimit !== null).map(({ pool }) => pool.id)
    const counts = shopper && limited.length > 0 ? await countsOfShopper(db, limited, shopper) : NO_COUNTS
    const byCode = new Map(found.map((coupon) => [coupon.normalizedCode, coupon]))

    const codes = texts.map((text, place): Code => {
      const code = normalized[place]
      const coupon = code === undefined ? undefined : byCode.get(code)
      if (!coupon) return { text, refusal: 'not_found', display: text }
      const refused = (refusal: CodeRefusal) => ({ text, refusal, display: coupon.code })
      if (normalized.indexOf(code) !== place) return refused('duplicate')
      const refusal = stateRefusalOf(coupon, { isNamed, shopper, counts, now: clock() })
      return refusal === undefined ? { text, coupon } : refused(refusal)
    })
    const usable = codes.flatMap((code) => ('coupon' in code ? [code.coupon] : []))
    const person = isNamed ? (shopper ?? { traits: {}, hasOrdered: false }) : undefined
    const outcomes = discountCart(
      cart,
      usable.map(({ normalizedCode, pool }) => ({ code: normalizedCode, pool })),
      person,
      new WorkBudget(),
    )
    return viewResult(cart, codes, new Map(usable.map((coupon, place) => [coupon, outcomes[place]])))
  }

const NO_COUNTS: ReadonlyMap<string, number> = new Map()

type Redeemer = {
  isNamed: boolean
  shopper: KnownShopper | undefined
  counts: ReadonlyMap<string, number>
  now: number
}

/** Why a redemption would be refused with any cart. */
const stateRefusalOf = (
  coupon: Coupon,
  { isNamed, shopper, counts, now }: Redeemer,
): CodeRefusal | undefined => {
  const { assignedProfileId, pool } = coupon
  const refusal = refusalOf(coupon, now)
  if (refusal !== undefined) return refusal
  if (assignedProfileId !== null && !shopper?.profileIds.includes(assignedProfileId))
    return 'already_redeemed'
  if (pool.perProfileLimit === null) return undefined
  if (!isNamed) return 'person_required'
  return (counts.get(pool.id) ?? 0) >= pool.perProfileLimit ? 'already_redeemed' : undefined
}

/** A code in the answer. */
type ViewedCode = {
  code: string
  valid: boolean
  reason?: CodeRefusal
  message?: string
  discountAmount: number
}

const viewResult = (
  cart: Cart,
  codes: readonly Code[],
  outcomes: ReadonlyMap<Coupon, CouponOutcome | undefined>,
) => {
  const items = cart.items.map(({ sku }) => ({ sku, discountAmount: 0 }))
  let [discountAmount, shippingDiscountAmount] = [0, 0]
  const refused = (code: string, reason: CodeRefusal) => ({
    ...{ code, valid: false, reason, message: MESSAGES[reason], discountAmount: 0 },
  })
  const coupons = codes.map((code): ViewedCode => {
    if (!('coupon' in code)) return refused(code.display, code.refusal)
    const outcome = outcomes.get(code.coupon)
    if (!outcome || 'refusal' in outcome)
      return refused(code.coupon.code, outcome?.refusal ?? 'not_stackable')
    const { grant } = outcome
    discountAmount += grant.discountAmount
    shippingDiscountAmount += grant.shippingDiscountAmount
    items.forEach((item, place) => {
      item.discountAmount += grant.items[place] ?? 0
    })
    return { code: code.coupon.code, valid: true, discountAmount: grant.discountAmount }
  })
  const valid = coupons.every((coupon) => coupon.valid)
  return { valid, discountAmount, shippingDiscountAmount, items, coupons }
}

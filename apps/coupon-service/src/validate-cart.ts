import type { CodeRefusal } from '@waymark/contracts/http/coupon-operations'
import {
  type Cart,
  type CouponOutcome,
  cartRefusalMessage,
  discountCart,
  normalizeCode,
  refusalMessage,
} from '@waymark/domain/coupon'
import { WorkBudget } from '@waymark/domain/logic'
import { findShopper } from '@waymark/pipeline'
import type { CorePlatform } from '@waymark/service-kit'
import { type Coupon, findCoupons } from './redeemable-coupon-queries.ts'
import { stateRefusalOf, withCounts } from './state-refusal.ts'

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
    const [found, shopper] = await Promise.all([
      findCoupons(db, projectId, wanted),
      findShopper(db, { projectId, userId, visitorId }),
    ])
    const person = await withCounts(db, found, shopper)
    const byCode = new Map(found.map((coupon) => [coupon.normalizedCode, coupon]))

    const codes = texts.map((text, index): Code => {
      const code = normalized[index]
      const coupon = code === undefined ? undefined : byCode.get(code)
      if (!coupon) return { text, refusal: 'not_found', display: text }
      const refused = (refusal: CodeRefusal) => ({ text, refusal, display: coupon.code })
      if (normalized.indexOf(code) !== index) return refused('duplicate')
      const refusal = stateRefusalOf(coupon, person, clock())
      return refusal === undefined ? { text, coupon } : refused(refusal)
    })
    const usable = codes.flatMap((code) => ('coupon' in code ? [code.coupon] : []))
    const outcomes = discountCart(
      cart,
      usable.map(({ normalizedCode, pool }) => ({ code: normalizedCode, pool })),
      shopper,
      new WorkBudget(),
    )
    return viewResult(cart, codes, new Map(usable.map((coupon, index) => [coupon, outcomes[index]])))
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
    code,
    valid: false,
    reason,
    message: MESSAGES[reason],
    discountAmount: 0,
  })
  const coupons = codes.map((code): ViewedCode => {
    if (!('coupon' in code)) return refused(code.display, code.refusal)
    const outcome = outcomes.get(code.coupon)
    if (!outcome || 'refusal' in outcome)
      return refused(code.coupon.code, outcome?.refusal ?? 'not_stackable')
    const { grant } = outcome
    discountAmount += grant.discountAmount
    shippingDiscountAmount += grant.shippingDiscountAmount
    items.forEach((item, index) => {
      item.discountAmount += grant.items[index] ?? 0
    })
    return { code: code.coupon.code, valid: true, discountAmount: grant.discountAmount }
  })
  const valid = coupons.every((coupon) => coupon.valid)
  return { valid, discountAmount, shippingDiscountAmount, items, coupons }
}

import type { ApiKeyKind } from '@waymark/contracts/api-key'
import type { CodeRefusal } from '@waymark/contracts/http/coupon-operations'
import { type Cart, type CouponOutcome, discountCart } from '@waymark/domain/coupon'
import { findShopper } from '@waymark/pipeline'
import type { ProjectConfigs } from '@waymark/project-config'
import type { CorePlatform } from '@waymark/service-kit'
import { chosenPayments, payCart } from './cart-payments.ts'
import type { CartContents, Computed } from './cart-request.ts'
import { type CodedCoupon, findCoupons, isGiftCard } from './redeemable-coupon-queries.ts'
import { CODE_MESSAGES, normalizedCodes, type RequestedCode, requestedCodes } from './requested-codes.ts'
import { inSegments } from './shopper-segments.ts'
import { withCounts } from './state-refusal.ts'

/** Computes what codes would grant for a cart: all of them or none. Changes nothing, and creates no profile. */
export const createValidateCart =
  ({
    db: { pool: db },
    projectConfigs,
    clock,
  }: Pick<CorePlatform, 'db' | 'clock'> & { projectConfigs: ProjectConfigs }) =>
  async (
    projectId: string,
    { codes: texts, userId, visitorId, cart }: CartContents,
    replacedId: string | null = null,
    keyKind: ApiKeyKind = 'pub',
  ): Promise<Computed<ReturnType<typeof viewResult> & ReturnType<typeof payCart>['view']>> => {
    const now = clock()
    const seen = { at: new Date(now), replacedId }
    const [found, known] = await Promise.all([
      findCoupons(db, projectId, normalizedCodes(texts), seen),
      findShopper(db, { projectId, userId, visitorId }),
    ])
    const shopper = await inSegments(db, projectConfigs, { projectId, shopper: known, coupons: found, now })
    const person = await withCounts(db, found, shopper, seen)
    const codes = requestedCodes(texts, found, { person, now, currency: cart.currency, keyKind })
    const applicable = codes.flatMap((code) => ('coupon' in code ? [code.coupon] : []))
    const usable = applicable.filter((coupon) => !isGiftCard(coupon))
    const outcomes = discountCart(
      cart,
      usable.map(({ normalizedCode, pool }) => ({ code: normalizedCode, pool })),
      shopper,
    )
    const result = viewResult(cart, codes, new Map(usable.map((coupon, index) => [coupon, outcomes[index]])))
    const { paid, view } = payCart(applicable.filter(isGiftCard), cart, result.discountAmount)
    const answer = { ...result, ...view }
    const granted = usable.flatMap((coupon, index) => {
      const outcome = outcomes[index]
      return outcome && 'grant' in outcome ? [{ coupon, grant: outcome.grant }] : []
    })
    return { answer, chosen: answer.valid ? [...granted, ...chosenPayments(paid, cart)] : [] }
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
  codes: readonly RequestedCode[],
  outcomes: ReadonlyMap<CodedCoupon, CouponOutcome | undefined>,
) => {
  const items = cart.items.map(({ sku }) => ({ sku, discountAmount: 0 }))
  let [discountAmount, shippingDiscountAmount] = [0, 0]
  const refused = (code: string, reason: CodeRefusal) => ({
    code,
    valid: false,
    reason,
    message: CODE_MESSAGES[reason],
    discountAmount: 0,
  })
  const coupons = codes.map((code): ViewedCode => {
    if (!('coupon' in code)) return refused(code.display, code.refusal)
    if (isGiftCard(code.coupon)) return { code: code.coupon.code, valid: true, discountAmount: 0 }
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

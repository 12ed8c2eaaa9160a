import { currencyOf } from '@waymark/contracts/currency'
import type { CartRequest } from '@waymark/contracts/http/cart'
import { cartRefusalMessage, discountCart, isCountable } from '@waymark/domain/coupon'
import { WorkBudget } from '@waymark/domain/logic'
import { findShopper } from '@waymark/pipeline'
import type { Pool } from 'pg'
import { unprocessable } from '../http/validation.ts'
import type { PoolTerms } from './coupon-terms.ts'

/** A pool and what was granted of its budget. */
type PreviewedPool = PoolTerms & {
  id: string
  projectId: string
  stackable: boolean
  priority: number
  used: number
}

/** What a coupon of a pool would grant for a cart. @throws AppError unprocessable for a cart that cannot be counted */
export const previewCart = async (
  db: Pool,
  { id, projectId, discount, rules, stackable, priority, budgetAmount, used }: PreviewedPool,
  { items, shippingAmount = 0, userId = null, visitorId = null, ...body }: CartRequest,
) => {
  const cart = { currency: currencyOf(body.currency) ?? '', items, shippingAmount }
  if (!isCountable(cart))
    throw unprocessable('items', 'maximum', `amount to more than ${Number.MAX_SAFE_INTEGER}`)
  const shopper = await findShopper(db, { projectId, userId, visitorId })
  const budget = budgetAmount && { ...budgetAmount, used }
  const pool = { id, discount, rules, stackable, priority, budget }
  const [outcome] = discountCart(cart, [{ code: '', pool }], shopper, new WorkBudget())
  const grant = outcome && 'grant' in outcome ? outcome.grant : undefined
  const refusal = outcome && 'refusal' in outcome ? outcome.refusal : undefined
  return {
    valid: grant !== undefined,
    ...(refusal && { reason: refusal, message: cartRefusalMessage[refusal] }),
    discountAmount: grant?.discountAmount ?? 0,
    shippingDiscountAmount: grant?.shippingDiscountAmount ?? 0,
    items: items.map(({ sku }, index) => ({ sku, discountAmount: grant?.items[index] ?? 0 })),
  }
}

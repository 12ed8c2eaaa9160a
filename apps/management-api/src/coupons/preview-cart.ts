import { currencyOf } from '@waymark/contracts/currency'
import type { CartRequest } from '@waymark/contracts/http/cart'
import type { Database } from '@waymark/database'
import { cartRefusalMessage, discountCart, isCountable } from '@waymark/domain/coupon'
import { compileSegment, createSegmentSet, segmentsIn } from '@waymark/domain/decision'
import { findShopper, withSegments } from '@waymark/pipeline'
import { unprocessable } from '../http/validation.ts'
import { readSegments } from '../segments/segment-rows.ts'
import type { PoolTerms } from './coupon-terms.ts'

/** A pool and what was granted of its budget. */
type PreviewedPool = PoolTerms & {
  id: string
  projectId: string
  stackable: boolean
  priority: number
  used: number
}

/** What a coupon of a pool would grant for a cart at `now` (ms since the epoch). @throws AppError unprocessable for a cart that cannot be counted */
export const previewCart = async (
  { pool: db, prisma }: Pick<Database, 'pool' | 'prisma'>,
  { id, projectId, discount, rules, stackable, priority, budgetAmount, used }: PreviewedPool,
  { items, shippingAmount = 0, userId = null, visitorId = null, ...body }: CartRequest,
  now: number,
) => {
  const cart = { currency: currencyOf(body.currency) ?? '', items, shippingAmount }
  if (!isCountable(cart))
    throw unprocessable('items', 'maximum', `amount to more than ${Number.MAX_SAFE_INTEGER}`)
  const condition = rules?.condition
  const segments = createSegmentSet(
    await readSegments(prisma, projectId, segmentsIn(condition)),
    compileSegment,
  )
  const known = await findShopper(db, { projectId, userId, visitorId })
  const shopper = await withSegments(db, known, [condition], { segments, now })
  const budget = budgetAmount && { ...budgetAmount, used }
  const pool = { id, discount, rules, stackable, priority, budget }
  const [outcome] = discountCart(cart, [{ code: '', pool }], shopper)
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

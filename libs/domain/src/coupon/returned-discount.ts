import type { GrantedItem } from '@waymark/contracts/http/coupon-views'
import { shareOf } from './money.ts'

/**
 * The discount of returned units, in minor units: for each line its part of the line's discount, rounded half to even. All
 * units of a line return its whole discount. Units of a SKU with several lines are taken from the lines in their order. The
 * discount never falls when more units are returned.
 */
export const returnedDiscount = (
  items: readonly GrantedItem[],
  returned: readonly { sku: string; quantity: number }[],
): number => {
  const left = new Map(returned.map(({ sku, quantity }) => [sku, quantity]))
  let total = 0
  for (const { sku, quantity, discountAmount } of items) {
    const units = Math.min(quantity, left.get(sku) ?? 0)
    left.set(sku, (left.get(sku) ?? 0) - units)
    total += shareOf(discountAmount, { numerator: BigInt(units), denominator: BigInt(quantity) })
  }
  return total
}

import type { CartItem } from '@waymark/contracts/http/cart'
import type { GrantedItem } from '@waymark/contracts/http/coupon-views'
import type { GrantedBefore } from './cart-rules.ts'

/** A redemption of an order: what it granted, in minor units, and the pool of its coupon. */
export type OrderRedemption = {
  items: readonly GrantedItem[]
  shippingAmount: number
  pool: { id: string; stackable: boolean }
}

/**
 * What redemptions of an order granted for the lines of a cart, in any order of the lines; undefined when they were for
 * other lines.
 */
export const grantedBefore = (
  items: readonly CartItem[],
  redemptions: readonly OrderRedemption[],
): GrantedBefore | undefined => {
  const granted = items.map(() => 0)
  for (const redemption of redemptions) {
    if (redemption.items.length !== items.length) return undefined
    const left = Map.groupBy(redemption.items, keyOf)
    for (const [index, item] of items.entries()) {
      const line = left.get(keyOf(item))?.shift()
      if (!line) return undefined
      granted[index] = (granted[index] ?? 0) + line.discountAmount
    }
  }
  const shippingAmount = redemptions.reduce((sum, redemption) => sum + redemption.shippingAmount, 0)
  return { items: granted, shippingAmount, pools: redemptions.map(({ pool }) => pool) }
}

const keyOf = ({ sku, category, quantity, unitAmount }: CartItem): string =>
  JSON.stringify([sku, category, quantity, unitAmount])

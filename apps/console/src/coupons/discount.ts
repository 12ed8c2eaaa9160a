import type { CouponPool } from '../api/types.ts'
import { formatNumber, formatPercentage } from '../ui/format.tsx'
import { formatMoney } from '../ui/money.ts'

/** The types of discounts that a new pool may have, with their names. */
export const SIMPLE_DISCOUNTS = [
  ['percent', 'Percent'],
  ['amount', 'Amount'],
  ['free_shipping', 'Free shipping'],
] as const

/** All types of discounts, with their names. */
export const DISCOUNTS = [...SIMPLE_DISCOUNTS, ['buy_x_get_y', 'Buy some, get some free']] as const

/** A discount as text. */
export const formatDiscount = ({
  type,
  value,
  currency,
  maxAmount,
  buyQuantity,
  getQuantity,
}: CouponPool['discount']): string => {
  const atMost = maxAmount !== undefined && currency ? `, at most ${formatMoney(maxAmount, currency)}` : ''
  if (type === 'percent' && value !== undefined) return `${formatPercentage(value)} off${atMost}`
  if (type === 'buy_x_get_y' && buyQuantity !== undefined && getQuantity !== undefined)
    return `buy ${formatNumber(buyQuantity)}, get ${formatNumber(getQuantity)} free`
  if (value !== undefined && currency) return `${formatMoney(value, currency)} off`
  return value === undefined ? `${type.replaceAll('_', ' ')}${atMost}` : `${type}: ${formatNumber(value)}`
}

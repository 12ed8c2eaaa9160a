import type { CouponPool } from '../api/types.ts'
import { formatMoney, formatNumber } from '../ui/format.tsx'

/** A discount as text. */
export const formatDiscount = ({ type, value, currency }: CouponPool['discount']): string => {
  if (type === 'percent' && value !== undefined) return `${formatNumber(value)} % off`
  if (value !== undefined && currency) return `${formatMoney(value, currency)} off`
  return value === undefined ? type.replaceAll('_', ' ') : `${type}: ${formatNumber(value)}`
}

import type { LinkStats } from '../api/types.ts'
import { formatMoney } from '../ui/money.ts'

type Revenue = LinkStats['conversions']['lastTouch']['revenue']

/** Sums in all their currencies; a dash when there are none. */
export const formatRevenue = (revenue: Revenue): string =>
  revenue.map(({ amount, currency }) => formatMoney(amount, currency)).join(' + ') || '–'

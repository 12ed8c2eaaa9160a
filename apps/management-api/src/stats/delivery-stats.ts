import {
  DELIVERY_DAYS,
  type DeliveryStatsView,
  getDeliveryStats,
  MAX_COUNTED_SAMPLES,
} from '@waymark/contracts/http/delivery-stats'
import { type OutcomeCount, readDeliveries } from '@waymark/pipeline'
import type { Route } from '@waymark/service-kit'
import type { ManagementDeps } from '../management-deps.ts'

const HOUR_MS = 60 * 60 * 1000
const DAY_MS = 24 * HOUR_MS

/** Whether the stores have what was acknowledged. */
export const deliveryStatsRoute = ({ projectRoute, db, limits, clock }: ManagementDeps): Route =>
  projectRoute(getDeliveryStats, async ({ projectId }) => {
    const now = clock()
    const today = Math.floor(now / DAY_MS) * DAY_MS
    const { counts, waiting, oldestAt } = await readDeliveries(db.pool, projectId, {
      from: today - (DELIVERY_DAYS - 1) * DAY_MS,
      recentFrom: now - DAY_MS,
      limit: MAX_COUNTED_SAMPLES,
    })
    const recent = counts.filter(({ isRecent }) => isRecent)
    const days = [...Map.groupBy(counts, ({ date }) => date)]
      .sort(([a], [b]) => (a < b ? 1 : -1))
      .map(([date, of]) => ({ date, ...outcomesOf(of) }))
    const body: DeliveryStatsView = {
      oneIn: limits.auditOneIn,
      lastDay: { ...outcomesOf(recent), delay: delayOf(recent) },
      waiting: {
        events: waiting,
        oldestSeconds: oldestAt === null ? 0 : Math.max(0, (now - oldestAt) / 1_000),
      },
      days,
    }
    return { body }
  })

/** Without the excused ones, about which nothing can be said. */
const outcomesOf = (counts: readonly OutcomeCount[]) => {
  const sumOf = (...outcomes: readonly OutcomeCount['outcome'][]): number =>
    counts.filter(({ outcome }) => outcomes.includes(outcome)).reduce((sum, { n }) => sum + n, 0)
  return {
    checked: sumOf('stored', 'missing', 'duplicated'),
    missing: sumOf('missing'),
    duplicated: sumOf('duplicated'),
  }
}

const delayOf = (counts: readonly OutcomeCount[]): { p50: number; p99: number } | null => {
  const stored = counts.filter(({ outcome }) => outcome === 'stored').sort((a, b) => a.seconds - b.seconds)
  const all = stored.reduce((sum, { n }) => sum + n, 0)
  /** The time that a share of them did not exceed. */
  const quantile = (share: number): number => {
    let below = 0
    for (const { seconds, n } of stored) {
      below += n
      if (below >= share * all) return seconds
    }
    return 0
  }
  return all === 0 ? null : { p50: quantile(0.5), p99: quantile(0.99) }
}

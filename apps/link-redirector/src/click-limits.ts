import type { SharedTotals } from '@waymark/cache'
import type { Log } from '@waymark/contracts/log'
import { LRUCache } from 'lru-cache'
import type { Pool } from 'pg'
import { readClicks } from './stored-link-queries.ts'

/** A link that ends after `clickLimit` clicks; `clicks` were stored when it was read. */
type LimitedLink = { id: string; clickLimit: number | null; clicks: number }

/** `used`: known clicks of all processes. `unshared`: clicks of this process that are not in the shared total yet. */
type Usage = { used: number; unshared: number }

const MAX_LINKS = 50_000

type ClickLimitsDeps = { totals: SharedTotals; pool: Pool; log: Log }

/**
 * Enforces click limits: exactly within one process, and within about two seconds across processes through shared totals.
 * While these are unavailable, each process uses its own count and the stored one. Clicks are shared before they are
 * stored, so the stored count never exceeds the shared one, and a total that is seeded with it counts no click twice.
 */
export const createClickLimits = ({ totals, pool, log }: ClickLimitsDeps) => {
  const usages = new LRUCache<string, Usage>({ max: MAX_LINKS })
  const asked = new Set<string>()
  const unshared = new Set<string>()
  let last = Promise.resolve()

  const usageOf = ({ id, clicks }: LimitedLink): Usage => {
    const known = usages.get(id)
    if (known) return known
    const usage = { used: clicks, unshared: 0 }
    usages.set(id, usage)
    return usage
  }

  const readStored = async (ids: readonly string[]): Promise<Map<string, number>> => {
    try {
      return await readClicks(pool, ids)
    } catch (error) {
      log.debug({ err: error }, 'Click counts could not be read; click limits use local counts')
      return new Map()
    }
  }

  const addUp = async (ids: readonly string[], stored: ReadonlyMap<string, number>): Promise<void> => {
    const shares = ids.flatMap((id) => {
      const usage = usages.get(id)
      return usage ? [{ id, usage, added: usage.unshared, stored: stored.get(id) ?? 0 }] : []
    })
    for (const { id } of shares) unshared.delete(id)
    const sums = await totals.add(
      shares.map(({ id, usage, added, stored }) => ({
        name: `link-clicks:${id}`,
        added,
        seed: Math.max(usage.used, stored),
      })),
    )
    shares.forEach(({ usage, added, stored }, index) => {
      // Shared totals can be lost and stored counts lag, so the greatest number is the most accurate.
      usage.used = Math.max(usage.used + added, sums?.[index] ?? 0, stored)
      usage.unshared -= added
    })
  }
  // Serialized, so that no click is added twice.
  const afterOthers = (work: () => Promise<void>): Promise<void> => {
    last = last.then(work)
    return last
  }

  return {
    /** Whether a click is within the link's limit. `counts`: whether it counts towards the limit. */
    allows: (link: LimitedLink, counts: boolean): boolean => {
      if (link.clickLimit === null) return true
      const usage = usageOf(link)
      asked.add(link.id)
      if (usage.used + usage.unshared >= link.clickLimit) return false
      if (counts) {
        usage.unshared += 1
        unshared.add(link.id)
      }
      return true
    },
    /** Adds the counted clicks to the shared totals. Call it before clicks are published. */
    share: async (): Promise<void> => {
      if (unshared.size > 0) await afterOthers(() => addUp([...unshared], new Map()))
    },
    /** Reads the totals of recently used links. Call it about every second. */
    refresh: async (): Promise<void> => {
      if (asked.size === 0) return
      const ids = [...asked]
      asked.clear()
      const stored = await readStored(ids)
      await afterOthers(() => addUp(ids, stored))
    },
  }
}

export type ClickLimits = ReturnType<typeof createClickLimits>

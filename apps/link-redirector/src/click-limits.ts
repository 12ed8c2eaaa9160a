import type { SharedTotals } from '@waymark/cache'
import type { Log } from '@waymark/contracts'
import { LRUCache } from 'lru-cache'
import type { Pool } from 'pg'

/** A link that leads nowhere after `clickLimit` clicks; `clicks` had been stored when it was read. */
export type LimitedLink = { id: string; clickLimit: number | null; clicks: number }

/** `used`: clicks of all processes as far as known. `unshared`: those of this one that no other was told of. */
type Usage = { used: number; unshared: number }

const MAX_LINKS = 50_000

const STORED = `SELECT link_id, clicks FROM link.counts WHERE link_id = ANY($1::uuid[])`

export type ClickLimitsDeps = { totals: SharedTotals; pool: Pool; log: Log }

/**
 * Holds click limits: exactly in one process, and within a second or two across processes, which tell each other what
 * they counted. While the shared totals are away each goes by its own count and by what is stored.
 */
export const createClickLimits = ({ totals, pool, log }: ClickLimitsDeps) => {
  const usages = new LRUCache<string, Usage>({ max: MAX_LINKS })
  const active = new Set<string>()

  const usageOf = ({ id, clicks }: LimitedLink): Usage => {
    const known = usages.get(id)
    if (known) return known
    const usage = { used: clicks, unshared: 0 }
    usages.set(id, usage)
    return usage
  }

  const readStored = async (ids: readonly string[]): Promise<Map<string, number>> => {
    try {
      const { rows } = await pool.query<{ link_id: string; clicks: string }>({
        name: 'read-link-counts',
        text: STORED,
        values: [ids],
      })
      return new Map(rows.map(({ link_id, clicks }) => [link_id, Number(clicks)]))
    } catch (error) {
      log.debug({ err: error }, 'click limits go without the stored counts')
      return new Map()
    }
  }

  return {
    /** Whether a click is within the link's limit. `counts` says whether it uses up some of it. */
    allows: (link: LimitedLink, counts: boolean): boolean => {
      if (link.clickLimit === null) return true
      const usage = usageOf(link)
      active.add(link.id)
      if (usage.used + usage.unshared >= link.clickLimit) return false
      if (counts) usage.unshared += 1
      return true
    },
    /** Tells other processes what was counted, and learns what they counted; to be called every second or so. */
    share: async (): Promise<void> => {
      if (active.size === 0) return
      const ids = [...active]
      active.clear()
      const stored = await readStored(ids)
      const shares = ids.flatMap((id) => {
        const usage = usages.get(id)
        return usage ? [{ id, usage, added: usage.unshared }] : []
      })
      const sums = await totals.add(
        shares.map(({ id, usage, added }) => ({
          name: `link-clicks:${id}`,
          added,
          seed: Math.max(usage.used, stored.get(id) ?? 0),
        })),
      )
      shares.forEach(({ id, usage, added }, index) => {
        // Redis may have forgotten a part, the stored count lags behind: the greatest is nearest to the truth.
        usage.used = Math.max(usage.used + added, sums?.[index] ?? 0, stored.get(id) ?? 0)
        usage.unshared -= added
      })
    },
  }
}

export type ClickLimits = ReturnType<typeof createClickLimits>

import { type Cache, readCopy } from '@waymark/cache'
import { runAsProcess } from '@waymark/domain/fairness'
import { checkDestination } from '@waymark/domain/link'
import { linkCopyKey, linkKeyOf } from '@waymark/pipeline'
import DataLoader from 'dataloader'
import type { Pool } from 'pg'
import { linkCopy, readLinks, type StoredLink } from './stored-link-queries.ts'

const COPY_MS = 60 * 60_000
/** Maximum difference between the clocks of the database and of this process, in ms. */
const CLOCK_SKEW_MS = 5_000
/** Links per statement. */
const MAX_BATCH = 500

/** A copied link and its maximum age in ms, which is infinite when the clocks contradict each other. */
export type CopiedLink = { link: StoredLink; ageMs: number }

type LinkStoreDeps = {
  pool: Pool
  cache: Cache
  /** In ms since the epoch; may differ from the database's clock by seconds. */
  clock: () => number
}

/**
 * Reads links from the database, concurrent requests by one statement, and their copies from the shared cache.
 */
export const createLinkStore = ({ pool, cache, clock }: LinkStoreDeps) => {
  const readBatch = async (keys: readonly string[]): Promise<(StoredLink | null)[]> => {
    // One statement for the visitors of many projects.
    const found = await runAsProcess(() => readLinks(pool, keys))
    return keys.map((key) => {
      const copy = found.get(key)
      if (!copy) return null
      // By the database's clock, because the copy is shared and this process's clock may be wrong.
      void cache.set(linkCopyKey(key), JSON.stringify(copy), COPY_MS)
      return copy.link
    })
  }
  const loader = new DataLoader<string, StoredLink | null>(readBatch, {
    cache: false,
    maxBatchSize: MAX_BATCH,
    batchScheduleFn: setImmediate,
  })

  return {
    /** The link with a key (`linkKeyOf`), or `null`. Stores a copy. @throws when the database is unavailable */
    read: (key: string): Promise<StoredLink | null> => loader.load(key),
    /** The shared copy of a link, up to an hour old. */
    readCopy: async (key: string): Promise<CopiedLink | undefined> => {
      const copy = await readCopy(cache, linkCopyKey(key), linkCopy)
      if (!copy || linkKeyOf(copy.link) !== key || !hasValidDestinations(copy.link)) return undefined
      const ageMs = clock() - copy.readAt + CLOCK_SKEW_MS
      return { link: copy.link, ageMs: ageMs < 0 ? Number.POSITIVE_INFINITY : ageMs }
    },
  }
}

const hasValidDestinations = ({ destination, targets, variants, expiredUrl }: StoredLink): boolean =>
  [
    destination,
    ...[...targets, ...variants].map((one) => one.destination),
    ...(expiredUrl === null ? [] : [expiredUrl]),
  ].every((url) => 'url' in checkDestination(url))

export type LinkStore = ReturnType<typeof createLinkStore>

import { createReadThroughCache, type ReadValue } from '@waymark/cache'
import type { Log } from '@waymark/contracts'
import { LINK_CODE } from '@waymark/domain'
import type { ChangeNotices } from '@waymark/project-config'
import type { LinkStore } from './link-store.ts'
import { type PreparedLink, prepareLink } from './prepared-link.ts'

const REFRESH_TIMEOUT_MS = 300
const READ_TIMEOUT_MS = 4_000

type LinkCacheDeps = {
  store: LinkStore
  changes: Pick<ChangeNotices, 'isCurrent' | 'isWatching'>
  now: () => number
  log: Log
}

/**
 * Reads links from memory, then from the shared cache, then from the database. A cached link is used as long as change
 * notices arrive and none names it. While no notices arrive, because the database is down, it is used without a read.
 */
export const createLinkCache = ({ store, changes, now, log }: LinkCacheDeps) => {
  const readCopy = async (code: string) => {
    const copy = await store.readCopy(code)
    return copy ? { value: prepareLink(copy.link), readAt: now() - copy.ageMs } : null
  }

  const links = createReadThroughCache<PreparedLink>({
    name: 'links',
    read: async (code): Promise<ReadValue<PreparedLink> | null> => {
      const copy = links.peek(code) ? null : await readCopy(code)
      if (copy && changes.isCurrent(code, copy.readAt)) return copy
      const link = await store.read(code)
      return link ? { value: prepareLink(link) } : null
    },
    readCopy,
    isCurrent: ({ code }, readAt) => changes.isCurrent(code, readAt) || !changes.isWatching(),
    refreshTimeoutMs: REFRESH_TIMEOUT_MS,
    readTimeoutMs: READ_TIMEOUT_MS,
    max: 200_000,
    maxMissing: 50_000,
    now,
    log,
  })

  return {
    /**
     * The link with that code, `null` when there is none.
     * @throws AppError store_unavailable when it is not cached and no store answers
     */
    get: async (code: string): Promise<PreparedLink | null> =>
      LINK_CODE.test(code) ? ((await links.get(code))?.value ?? null) : null,
  }
}

export type LinkCache = ReturnType<typeof createLinkCache>

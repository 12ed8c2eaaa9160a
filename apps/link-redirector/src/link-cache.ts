import { AppError, type Log } from '@waymark/contracts'
import { LINK_CODE } from '@waymark/domain'
import type { ChangeNotices } from '@waymark/project-config'
import { LRUCache } from 'lru-cache'
import pTimeout from 'p-timeout'
import type { LinkStore, StoredLink } from './link-store.ts'
import { type PreparedLink, prepareLink } from './prepared-link.ts'

/** How long it is believed that there is no such link, in ms. */
const NEGATIVE_MS = 2_000
/** How long a read may take when there is a link to fall back to, and when there is none, in ms. */
const HASTY_MS = 300
const PATIENT_MS = 4_000
/** After a failed read the same link is not read again for this long, in ms. */
const SPARED_MS = 1_000
const RETRY_AFTER_S = 5

/** `readAt`: when it was read, in ms; 0 for a copy of unknown truth. */
type Entry = { link: PreparedLink; readAt: number; triedAt: number }

export type LinkCacheDeps = {
  store: LinkStore
  changes: Pick<ChangeNotices, 'isCurrent' | 'isWatching'>
  now: () => number
  log: Log
  maxLinks?: number
  maxUnknown?: number
}

/**
 * Links through memory, then the shared cache, then the database; many who ask for the same one at a moment share one
 * read. What is remembered is true as long as notices of changes come in and none names it. When they do not, because
 * the database is away, what is remembered counts at once and for as long as that lasts.
 */
export const createLinkCache = ({
  store,
  changes,
  now,
  log,
  maxLinks = 200_000,
  maxUnknown = 50_000,
}: LinkCacheDeps) => {
  const entries = new LRUCache<string, Entry>({ max: maxLinks })
  const unknown = new LRUCache<string, number>({ max: maxUnknown })
  const reading = new Map<string, Promise<PreparedLink | null>>()

  const keep = (link: StoredLink, readAt: number): PreparedLink => {
    const prepared = prepareLink(link)
    entries.set(prepared.code, { link: prepared, readAt, triedAt: readAt })
    return prepared
  }

  const read = async (code: string, remembered: Entry | undefined): Promise<PreparedLink | null> => {
    const readAt = now()
    const copy = remembered ? undefined : await store.readCopy(code)
    const copiedAt = copy ? readAt - copy.ageMs : 0
    if (copy && changes.isCurrent(code, copiedAt)) return keep(copy.link, copiedAt)
    try {
      const milliseconds = remembered ? HASTY_MS : PATIENT_MS
      const link = await pTimeout(store.read(code), { milliseconds, fallback: tooLate })
      if (link) return keep(link, readAt)
      entries.delete(code)
      unknown.set(code, readAt)
      return null
    } catch (error) {
      if (remembered) {
        remembered.triedAt = now()
        return remembered.link
      }
      log.warn({ err: error }, 'a link cannot be read')
      if (copy) return keep(copy.link, 0)
      throw new AppError(
        'store_unavailable',
        'STORE_UNAVAILABLE',
        { retryAfter: RETRY_AFTER_S },
        { cause: error },
      )
    }
  }

  return {
    /**
     * The link with that code, `null` when there is none.
     * @throws AppError store_unavailable when it is not remembered and no store can tell
     */
    get: (code: string): PreparedLink | null | Promise<PreparedLink | null> => {
      const entry = entries.get(code)
      if (entry) {
        const { link, readAt, triedAt } = entry
        if (changes.isCurrent(code, readAt) || !changes.isWatching()) return link
        if (triedAt > readAt && now() - triedAt < SPARED_MS) return link
      } else {
        if (!LINK_CODE.test(code)) return null
        const unknownSince = unknown.get(code)
        if (unknownSince !== undefined && now() - unknownSince < NEGATIVE_MS) return null
      }
      const underWay = reading.get(code)
      if (underWay !== undefined) return underWay
      const fresh = read(code, entry).finally(() => reading.delete(code))
      reading.set(code, fresh)
      return fresh
    },
  }
}

// Made when it is needed: an error, with its stack, costs more than the rest of a read.
const tooLate = (): never => {
  throw new Error('the database does not answer in time')
}

export type LinkCache = ReturnType<typeof createLinkCache>

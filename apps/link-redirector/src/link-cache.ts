import { createReadThroughCache, type ReadValue } from '@waymark/cache'
import type { LinkTarget } from '@waymark/contracts/http/links'
import type { Log } from '@waymark/contracts/log'
import {
  fitsTarget,
  LINK_CODE,
  type LinkVisitor,
  type PreparedDestination,
  prepareDestination,
} from '@waymark/domain/link'
import { linkKeyOf } from '@waymark/pipeline'
import type { ChangeNotices } from '@waymark/project-config'
import type { LinkStore } from './link-store.ts'
import type { StoredLink } from './stored-link-queries.ts'

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
  const readCopy = async (key: string) => {
    const copy = await store.readCopy(key)
    return copy ? { value: prepareLink(copy.link), readAt: now() - copy.ageMs } : null
  }

  const links = createReadThroughCache<PreparedLink>({
    name: 'links',
    read: async (key): Promise<ReadValue<PreparedLink> | null> => {
      const copy = links.peek(key) ? null : await readCopy(key)
      if (copy && changes.isCurrent(key, copy.readAt)) return copy
      const link = await store.read(key)
      return link ? { value: prepareLink(link) } : null
    },
    readCopy,
    isCurrent: (link, readAt) => changes.isCurrent(linkKeyOf(link), readAt) || !changes.isWatching(),
    refreshTimeoutMs: REFRESH_TIMEOUT_MS,
    readTimeoutMs: READ_TIMEOUT_MS,
    max: 200_000,
    maxMissing: 50_000,
    now,
    log,
  })

  return {
    /**
     * The link of a domain with that code, `null` when there is none. `domainId` is null for the domain of the
     * installation.
     * @throws AppError store_unavailable when it is not cached and no store answers
     */
    get: async (code: string, domainId: string | null = null): Promise<PreparedLink | null> =>
      LINK_CODE.test(code) ? ((await links.get(linkKeyOf({ domainId, code })))?.value ?? null) : null,
  }
}

export type LinkCache = ReturnType<typeof createLinkCache>

type PreparedTarget = { conditions: Omit<LinkTarget, 'destination'>; destination: PreparedDestination }

/** `number` names the variant in click ids. */
type PreparedVariant = { key: string; number: number; weight: number; destination: PreparedDestination }

/** What few links have. */
type LinkExtras = Pick<StoredLink, 'passwordHash' | 'og'> & {
  variants: readonly PreparedVariant[]
  /** Whether the ids of clicks have the number of a variant. */
  hasVariantNumbers: boolean
}

/** A link with parsed destinations. */
export type PreparedLink = Omit<
  StoredLink,
  'destination' | 'targets' | 'utm' | 'passwordHash' | 'og' | 'variants' | 'variantKeys'
> & {
  destination: PreparedDestination
  targets: readonly PreparedTarget[]
  /** Null for a link without any. */
  extras: LinkExtras | null
}

/**
 * Parses the destinations of a link once for all visitors. Many links are cached, so fields that a redirect does not use
 * are dropped.
 */
const prepareLink = (link: StoredLink): PreparedLink => ({
  id: link.id,
  projectId: link.projectId,
  domainId: link.domainId,
  code: link.code,
  status: link.status,
  startsAt: link.startsAt,
  expiresAt: link.expiresAt,
  clickLimit: link.clickLimit,
  expiredUrl: link.expiredUrl,
  clicks: link.clicks,
  forwardQuery: link.forwardQuery,
  destination: prepareDestination(link.destination, link.utm),
  targets: link.targets.map(({ destination, ...conditions }) => ({
    conditions,
    destination: prepareDestination(destination, link.utm),
  })),
  extras: prepareExtras(link),
})

const prepareExtras = ({ passwordHash, og, variants, variantKeys, utm }: StoredLink): LinkExtras | null =>
  passwordHash === null && og === null && variantKeys.length === 0
    ? null
    : {
        passwordHash,
        og,
        variants: variants.map(({ key, weight, destination }) => ({
          key,
          number: variantKeys.indexOf(key) + 1,
          weight,
          destination: prepareDestination(destination, utm),
        })),
        hasVariantNumbers: variantKeys.length > 0,
      }

/** The destination of the first target that a visitor fits; `describe` is called only if the link has targets. */
export const targetFor = (
  { targets }: PreparedLink,
  describe: () => LinkVisitor,
): PreparedDestination | undefined => {
  if (targets.length === 0) return undefined
  const visitor = describe()
  return targets.find(({ conditions }) => fitsTarget(conditions, visitor))?.destination
}

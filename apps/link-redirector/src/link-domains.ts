import { type Cache, readCopy } from '@waymark/cache'
import { storeUnavailable } from '@waymark/contracts/app-error'
import { within } from '@waymark/contracts/within'
import { oneAtATime } from '@waymark/project-config'
import { type HttpRequest, requestHostOf } from '@waymark/service-kit'
import type { Pool } from 'pg'
import {
  type LinkDomain,
  linkDomainsCopy,
  readLinkDomains,
  readLinkDomainsVersion,
} from './link-domain-queries.ts'

const COPY_KEY = 'link-domains:v1'
const COPY_MS = 24 * 60 * 60_000
/** How long domains are used without being read again, in ms, if their version does not change. */
const MAX_AGE_MS = 60_000
const READ_TIMEOUT_MS = 3_000

type LinkDomainsDeps = {
  pool: Pool
  cache: Cache
  now: () => number
}

/**
 * The verified domains, in memory. Until the first read, a request waits for the database or for the copy in the shared
 * cache, because a link of another domain may have the same code.
 */
export const createLinkDomains = ({ pool, cache, now }: LinkDomainsDeps) => {
  let byHost: ReadonlyMap<string, LinkDomain> | undefined
  let version: string | undefined
  let readAt = Number.NEGATIVE_INFINITY
  let loading: Promise<void> | undefined

  const use = (domains: readonly LinkDomain[]): void => {
    byHost = new Map(domains.map((domain) => [domain.host, domain]))
  }

  const readChanged = async (): Promise<void> => {
    const current = await readLinkDomainsVersion(pool)
    if (current === version && now() - readAt < MAX_AGE_MS) return
    const domains = await readLinkDomains(pool)
    use(domains)
    version = current
    readAt = now()
    void cache.set(COPY_KEY, JSON.stringify(domains), COPY_MS)
  }

  /** Reads the domains again if they have changed. @throws when the database is unavailable */
  const poll = oneAtATime(readChanged)

  const load = async (): Promise<void> => {
    try {
      await within(READ_TIMEOUT_MS, poll(), () => new Error('The domains were not read in time'))
    } catch (error) {
      const copy = await readCopy(cache, COPY_KEY, linkDomainsCopy)
      if (copy === undefined) throw storeUnavailable(error)
      if (byHost === undefined) use(copy)
    }
  }
  const loadOnce = (): Promise<void> => {
    loading ??= load().finally(() => {
      loading = undefined
    })
    return loading
  }

  /** The domain to which a request was sent; undefined for the domain of the installation. */
  const find = (request: HttpRequest): LinkDomain | undefined => {
    if (byHost === undefined || byHost.size === 0) return undefined
    const host = requestHostOf(request)
    return host === undefined ? undefined : byHost.get(hostNameOf(host))
  }

  return {
    poll,
    find,
    /** Whether a request was sent to a verified domain. @throws AppError store_unavailable when that is unknown */
    owns: (request: HttpRequest): boolean | Promise<boolean> =>
      byHost === undefined ? loadOnce().then(() => find(request) !== undefined) : find(request) !== undefined,
    /** Applies committed changes. Changes nothing while the database is unavailable. */
    refresh: async (): Promise<undefined> => {
      await poll().catch(() => {})
      return undefined
    },
  }
}

export type LinkDomains = ReturnType<typeof createLinkDomains>

const DOT_AND_PORT = /\.?(?::\d*)?$/

/** The host name in a `Host` header: lower case, without the dot of the root and the port. */
export const hostNameOf = (host: string): string => host.replace(DOT_AND_PORT, '').toLowerCase()

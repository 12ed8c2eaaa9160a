import { cacheUserAgents, createIngestQueue, createVisitorHash } from '@waymark/pipeline'
import { createChangeNotices } from '@waymark/project-config'
import { type CorePlatform, everyMs, type Service, untilStopped } from '@waymark/service-kit'
import { Router } from 'express'
import { createAppFiles } from './app-files.ts'
import { createClickLimits } from './click-limits.ts'
import { createClickRecorder } from './click-recorder.ts'
import { createDomainRoutes } from './domain-routes.ts'
import { createLinkCache } from './link-cache.ts'
import { createLinkDomains } from './link-domains.ts'
import { createLinkPasswords } from './link-passwords.ts'
import { createLinkStore } from './link-store.ts'
import { createProjectOptions } from './project-options.ts'
import { createRedirects, redirectRoutes } from './redirect-route.ts'
import { linkChanges } from './stored-link-queries.ts'
import { createVisitorReader } from './visitor.ts'

/** `countryOf` returns the country of an address as ISO 3166-1 alpha-2, or `null`; defaults to the platform's. */
type LinkRedirectorOptions = { countryOf?: (ip: string) => string | null }

/** How long a link is used without being read again, in ms, if no change notice arrives. */
const MAX_AGE_MS = 10 * 60_000
const POLL_MS = 1_000
const REFRESH_LIMITS_MS = 500
const SHARE_SALTS_MS = 60_000

/** Resolves short links and records their clicks. */
export const createLinkRedirector = (
  {
    db,
    bus,
    cache,
    rateLimiter,
    totals,
    projectConfigs,
    configChanges,
    locate,
    clock,
    steadyClock,
    log,
    metrics,
    passwordQueue,
  }: CorePlatform,
  { countryOf = (ip) => locate(ip).country }: LinkRedirectorOptions = {},
): Service => {
  const { pool } = db
  const changes = createChangeNotices({
    pool,
    log,
    now: steadyClock,
    query: linkChanges,
    maxAgeMs: MAX_AGE_MS,
  })
  configChanges.watch(changes)
  const links = createLinkCache({
    store: createLinkStore({ pool, cache, clock }),
    changes,
    now: steadyClock,
    log,
  })
  const domains = createLinkDomains({ pool, cache, now: steadyClock })
  configChanges.watch(domains)
  const limits = createClickLimits({ totals, pool, log })
  const { shareSalts, hashVisitor } = createVisitorHash({ pool, now: clock, purpose: 'links' })
  const describeUserAgent = cacheUserAgents()
  const queue = createIngestQueue({ bus, db, log, now: steadyClock, lane: 'click-spool' })
  const clicks = createClickRecorder({
    queue,
    beforeHandOver: limits.share,
    describeUserAgent,
    countryOf,
    hashVisitor,
    log,
    metrics,
  })
  const visitors = createVisitorReader({ describeUserAgent, countryOf })
  const optionsOf = createProjectOptions(projectConfigs, steadyClock, log)
  const passwords = createLinkPasswords({ rateLimiter, clock, queue: passwordQueue })
  const redirects = createRedirects({ links, optionsOf, limits, passwords, visitors, clicks, clock })
  return {
    router: Router(),
    routes: redirectRoutes(redirects),
    hostRoutes: createDomainRoutes(domains, redirects, createAppFiles({ pool, now: steadyClock, log })),
    loops: [
      everyMs('link-changes', POLL_MS, changes.poll),
      everyMs('link-domains', POLL_MS, domains.poll),
      everyMs('click-spool', POLL_MS, queue.watchSpool),
      everyMs('click-limits', REFRESH_LIMITS_MS, limits.refresh),
      everyMs('visitor-salts', SHARE_SALTS_MS, shareSalts),
      untilStopped('clicks', clicks.run),
    ],
  }
}

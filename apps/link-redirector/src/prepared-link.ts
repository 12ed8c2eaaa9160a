import type { LinkTarget } from '@waymark/contracts'
import { fitsTarget, type LinkVisitor, type PreparedDestination, prepareDestination } from '@waymark/domain'
import type { StoredLink } from './link-store.ts'

type PreparedTarget = { conditions: Omit<LinkTarget, 'destination'>; destination: PreparedDestination }

/** A link that is ready to be followed. */
export type PreparedLink = Omit<StoredLink, 'destination' | 'targets' | 'utm'> & {
  destination: PreparedDestination
  targets: readonly PreparedTarget[]
}

/**
 * Prepares once what all visitors of a link need. A redirector caches many links, so the fields that a redirect does not
 * use are left out.
 */
export const prepareLink = (link: StoredLink): PreparedLink => ({
  id: link.id,
  projectId: link.projectId,
  code: link.code,
  status: link.status,
  startsAt: link.startsAt,
  expiresAt: link.expiresAt,
  clickLimit: link.clickLimit,
  clicks: link.clicks,
  forwardQuery: link.forwardQuery,
  destination: prepareDestination(link.destination, link.utm),
  targets: link.targets.map(({ destination, ...conditions }) => ({
    conditions,
    destination: prepareDestination(destination, link.utm),
  })),
})

/** Where a link leads a visitor; `describe` is asked only if that depends on who it is. */
export const destinationFor = (
  { destination, targets }: PreparedLink,
  describe: () => LinkVisitor,
): PreparedDestination => {
  if (targets.length === 0) return destination
  const visitor = describe()
  return targets.find(({ conditions }) => fitsTarget(conditions, visitor))?.destination ?? destination
}

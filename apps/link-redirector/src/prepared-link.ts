import type { LinkTarget } from '@waymark/contracts'
import { fitsTarget, type LinkVisitor, type PreparedDestination, prepareDestination } from '@waymark/domain'
import type { StoredLink } from './link-store.ts'

type PreparedTarget = { conditions: Omit<LinkTarget, 'destination'>; destination: PreparedDestination }

/** A link with parsed destinations. */
export type PreparedLink = Omit<StoredLink, 'destination' | 'targets' | 'utm'> & {
  destination: PreparedDestination
  targets: readonly PreparedTarget[]
}

/**
 * Parses the destinations of a link once for all visitors. Many links are cached, so fields that a redirect does not use
 * are dropped.
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

/** The destination for a visitor; `describe` is called only if the link has targets. */
export const destinationFor = (
  { destination, targets }: PreparedLink,
  describe: () => LinkVisitor,
): PreparedDestination => {
  if (targets.length === 0) return destination
  const visitor = describe()
  return targets.find(({ conditions }) => fitsTarget(conditions, visitor))?.destination ?? destination
}

import type { LinkTarget } from '@waymark/contracts'
import { fitsTarget, type LinkVisitor, type PreparedDestination, prepareDestination } from '@waymark/domain'
import { LRUCache } from 'lru-cache'
import type { StoredLink } from './link-store.ts'

type PreparedTarget = { conditions: Omit<LinkTarget, 'destination'>; destination: PreparedDestination }

/** A link that is ready to be followed. */
export type PreparedLink = Omit<StoredLink, 'destination' | 'targets' | 'utm'> & {
  destination: PreparedDestination
  targets: readonly PreparedTarget[]
}

const MAX_SHARED = 10_000
const NO_TARGETS: readonly PreparedTarget[] = []

// Many links have the same project and status. With a copy of these for each a link would take a sixth more memory.
const shared = new LRUCache<string, string>({ max: MAX_SHARED })

/**
 * Does once what all visitors of a link have in common. As many links are remembered, what following one does not need is
 * left out.
 */
export const prepareLink = (link: StoredLink): PreparedLink => ({
  id: link.id,
  projectId: sharedText(link.projectId),
  code: link.code,
  status: sharedText(link.status),
  startsAt: link.startsAt,
  expiresAt: link.expiresAt,
  clickLimit: link.clickLimit,
  clicks: link.clicks,
  forwardQuery: link.forwardQuery,
  destination: prepareDestination(link.destination, link.utm),
  targets:
    link.targets.length === 0
      ? NO_TARGETS
      : link.targets.map(({ destination: own, ...conditions }) => ({
          conditions,
          destination: prepareDestination(own, link.utm),
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

const sharedText = <T extends string>(text: T): T => {
  // Equal, and therefore of the same type.
  const known = shared.get(text) as T | undefined
  if (known !== undefined) return known
  shared.set(text, text)
  return text
}

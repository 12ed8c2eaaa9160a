import type { LinkTarget } from '@waymark/contracts'
import { fitsTarget, type LinkVisitor, type PreparedDestination, prepareDestination } from '@waymark/domain'
import type { StoredLink } from './link-store.ts'

type PreparedTarget = { conditions: Omit<LinkTarget, 'destination'>; destination: PreparedDestination }

/** A link that is ready to be followed. */
export type PreparedLink = Omit<StoredLink, 'destination' | 'targets'> & {
  destination: PreparedDestination
  targets: readonly PreparedTarget[]
}

/** Does once what all visitors of a link have in common. */
export const prepareLink = ({ destination, targets, ...link }: StoredLink): PreparedLink => ({
  ...link,
  destination: prepareDestination(destination, link.utm),
  targets: targets.map(({ destination: own, ...conditions }) => ({
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

import { resolveLink } from '@waymark/contracts'
import { addressFor, createClickIds, type LinkEnd, linkStateAt } from '@waymark/domain'
import { type HttpRequest, queryTextOf, type Reply, type Route, route } from '@waymark/service-kit'
import type { ClickLimits } from './click-limits.ts'
import type { ClickRecorder } from './click-recorder.ts'
import { destinationFor, type LinkCache, type PreparedLink } from './link-cache.ts'
import type { LinkDomain } from './link-domain-queries.ts'
import { type Refusal, redirectTo, refusalReply, unknownLink } from './link-page.ts'
import type { ProjectOptions } from './project-options.ts'
import type { VisitorReader } from './visitor.ts'

type RedirectDeps = {
  links: LinkCache
  optionsOf: (projectId: string) => ProjectOptions | Promise<ProjectOptions>
  limits: ClickLimits
  visitors: VisitorReader
  clicks: ClickRecorder
  clock: () => number
}

const ENDED: Record<LinkEnd, string> = {
  paused: 'This link is paused',
  archived: 'This link is no longer available',
  expired: 'This link has expired',
  click_limit_reached: 'This link has been used up',
}

/** Answers a visitor of a code: redirects and records the click. Without `domain`: the domain of the installation. */
export type FollowLink = (request: HttpRequest, code: string, domain?: LinkDomain) => Promise<Reply>

/** Creates the function that redirects visitors and records clicks. */
export const createFollowLink = ({
  links,
  optionsOf,
  limits,
  visitors,
  clicks,
  clock,
}: RedirectDeps): FollowLink => {
  const newClickId = createClickIds()

  /** Why a visitor is not redirected. If undefined, the click has been counted towards the limit. */
  const refusalOf = (link: PreparedLink, at: number, request: HttpRequest): Refusal | undefined => {
    const state = linkStateAt(link, at)
    if (state === 'not_started') return unknownLink
    const end = state === 'open' ? limitOf(link, request) : state
    return end && { status: 410, error: ENDED[end], reason: end }
  }
  const limitOf = (link: PreparedLink, request: HttpRequest): LinkEnd | undefined => {
    if (link.clickLimit === null) return undefined
    const counts = request.method !== 'HEAD' && visitors.isHuman(request)
    return limits.allows(link, counts) ? undefined : 'click_limit_reached'
  }

  return async (request, code, domain) => {
    const link = await links.get(code, domain?.id)
    const at = clock()
    const refusal = link === null ? unknownLink : refusalOf(link, at, request)
    if (link === null || refusal !== undefined) {
      const address = refusal?.status === 410 ? (link?.expiredUrl ?? domain?.expiredUrl) : domain?.notFoundUrl
      return refusalReply(request, refusal ?? unknownLink, address)
    }
    const { appendClickId, ipStorage } = await optionsOf(link.projectId)
    const destination = destinationFor(link, () => visitors.describe(request))
    // A HEAD request is not a click.
    const clickId = request.method === 'HEAD' ? null : newClickId(link.id, at)
    const query = link.forwardQuery ? queryTextOf(request.url) : ''
    const location = addressFor(destination, appendClickId ? clickId : null, query)
    if (clickId !== null) {
      clicks.record({
        id: clickId,
        projectId: link.projectId,
        linkId: link.id,
        code: link.code,
        at,
        ipStorage,
        ...visitors.read(request),
      })
    }
    return redirectTo(location)
  }
}

/** `GET /s/{code}` */
export const redirectRoute = (follow: FollowLink): Route =>
  route(resolveLink, (request) => follow(request, request.params.code ?? ''))

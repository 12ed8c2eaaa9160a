import { resolveLink } from '@waymark/contracts'
import { addressFor, createClickIds, type LinkEnd, linkStateAt } from '@waymark/domain'
import { type HttpRequest, queryTextOf, type Route, route } from '@waymark/service-kit'
import type { ClickLimits } from './click-limits.ts'
import type { ClickRecorder } from './click-recorder.ts'
import { destinationFor, type LinkCache, type PreparedLink } from './link-cache.ts'
import { type Refusal, refusalReply } from './link-page.ts'
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
const UNKNOWN = { status: 404, error: 'There is no such link' } as const

/** `GET /s/{code}`: redirects a visitor and records the click. */
export const redirectRoute = ({ links, optionsOf, limits, visitors, clicks, clock }: RedirectDeps): Route => {
  const newClickId = createClickIds()

  /** Why a visitor is not redirected. If undefined, the click has been counted towards the limit. */
  const refusalOf = (link: PreparedLink, at: number, request: HttpRequest): Refusal | undefined => {
    const state = linkStateAt(link, at)
    if (state === 'not_started') return UNKNOWN
    const end = state === 'open' ? limitOf(link, request) : state
    return end && { status: 410, error: ENDED[end], reason: end }
  }
  const limitOf = (link: PreparedLink, request: HttpRequest): LinkEnd | undefined => {
    if (link.clickLimit === null) return undefined
    const counts = request.method !== 'HEAD' && visitors.isHuman(request)
    return limits.allows(link, counts) ? undefined : 'click_limit_reached'
  }

  return route(resolveLink, async (request) => {
    const code = request.params.code ?? ''
    const link = await links.get(code)
    const at = clock()
    const refusal = link === null ? UNKNOWN : refusalOf(link, at, request)
    if (link === null || refusal !== undefined) return refusalReply(request, refusal ?? UNKNOWN)
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
    return { status: 302, headers: { Location: location, 'Cache-Control': 'no-store' } }
  })
}

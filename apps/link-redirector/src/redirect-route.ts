import { resolveLink } from '@waymark/contracts'
import { createClickIds, LINK_CODE, type LinkEnd, linkStateAt, locate } from '@waymark/domain'
import type { Route } from '@waymark/service-kit'
import type { Request, Response } from 'express'
import type { ClickLimits } from './click-limits.ts'
import type { ClickRecorder } from './click-recorder.ts'
import type { LinkCache } from './link-cache.ts'
import { refuse } from './link-page.ts'
import { destinationFor, type PreparedLink } from './prepared-link.ts'
import type { ProjectOptions } from './project-options.ts'
import type { VisitorReader } from './visitor.ts'

export type RedirectDeps = {
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

/** `GET /s/{code}`: sends a visitor where the link leads. */
export const redirectRoute = ({ links, optionsOf, limits, visitors, clicks, clock }: RedirectDeps): Route => {
  const newClickId = createClickIds()

  /** Why a link leads this visitor nowhere; otherwise the click counts from here on. */
  const endOf = (link: PreparedLink, state: LinkEnd | 'open', req: Request): LinkEnd | undefined => {
    if (state !== 'open') return state
    if (link.clickLimit === null) return undefined
    const counts = req.method !== 'HEAD' && visitors.isHuman(req)
    return limits.allows(link, counts) ? undefined : 'click_limit_reached'
  }

  const follow = async (req: Request, res: Response): Promise<void> => {
    const { code } = req.params
    if (typeof code !== 'string' || !LINK_CODE.test(code)) return refuse(req, res, UNKNOWN)
    const link = await links.get(code)
    const at = clock()
    const state = link === null ? 'not_started' : linkStateAt(link, at)
    if (link === null || state === 'not_started') return refuse(req, res, UNKNOWN)
    const end = endOf(link, state, req)
    if (end !== undefined) return refuse(req, res, { status: 410, error: ENDED[end], reason: end })

    const { appendClickId, ipStorage } = await optionsOf(link.projectId)
    const destination = destinationFor(link, () => visitors.describe(req))
    // Whoever asks by HEAD has not clicked.
    const clickId = req.method === 'HEAD' ? null : newClickId(link.id, at)
    const location = locate(
      destination,
      appendClickId ? clickId : null,
      link.forwardQuery ? queryOf(req.url) : '',
    )
    // Otherwise browsers would not tell the destination where their visitors come from.
    res.removeHeader('Referrer-Policy')
    res.writeHead(302, { Location: location, 'Cache-Control': 'no-store', 'Content-Length': 0 }).end()
    if (clickId === null) return
    clicks.record({
      id: clickId,
      projectId: link.projectId,
      linkId: link.id,
      code: link.code,
      at,
      ipStorage,
      ...visitors.read(req),
    })
  }

  return { operation: resolveLink, handlers: [follow] }
}

const queryOf = (url: string): string => {
  const start = url.indexOf('?')
  return start === -1 ? '' : url.slice(start + 1)
}

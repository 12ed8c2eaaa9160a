import type { IncomingMessage } from 'node:http'
import { resolveLink } from '@waymark/contracts'
import { addressFor, createClickIds, type LinkEnd, linkStateAt } from '@waymark/domain'
import type { DirectHandler, Exchange, Route } from '@waymark/service-kit'
import type { RequestHandler } from 'express'
import type { ClickLimits } from './click-limits.ts'
import type { ClickRecorder } from './click-recorder.ts'
import type { LinkCache } from './link-cache.ts'
import { type Refusal, refuse } from './link-page.ts'
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
  const refusals = new WeakMap<IncomingMessage, Refusal>()

  /** Why a link leads this visitor nowhere; otherwise the click counts from here on. */
  const refusalOf = (link: PreparedLink | null, at: number, req: IncomingMessage): Refusal | undefined => {
    const state = link === null ? 'not_started' : linkStateAt(link, at)
    if (link === null || state === 'not_started') return UNKNOWN
    const end = state === 'open' ? limitOf(link, req) : state
    return end && { status: 410, error: ENDED[end], reason: end }
  }
  const limitOf = (link: PreparedLink, req: IncomingMessage): LinkEnd | undefined => {
    if (link.clickLimit === null) return undefined
    const counts = req.method !== 'HEAD' && visitors.isHuman(req)
    return limits.allows(link, counts) ? undefined : 'click_limit_reached'
  }

  const follow = (link: PreparedLink | null, exchange: Exchange): boolean | Promise<boolean> => {
    const { req } = exchange
    const at = clock()
    const refusal = refusalOf(link, at, req)
    if (link === null || refusal !== undefined) {
      refusals.set(req, refusal ?? UNKNOWN)
      return false
    }
    const options = optionsOf(link.projectId)
    return options instanceof Promise
      ? options.then((known) => redirect(link, known, at, exchange))
      : redirect(link, options, at, exchange)
  }

  const redirect = (
    link: PreparedLink,
    { appendClickId, ipStorage }: ProjectOptions,
    at: number,
    { req, res, ip, headers }: Exchange,
  ): true => {
    const destination = destinationFor(link, () => visitors.describe(req, ip))
    // Whoever asks by HEAD has not clicked.
    const clickId = req.method === 'HEAD' ? null : newClickId(link.id, at)
    const query = link.forwardQuery ? queryOf(req.url ?? '') : ''
    const location = addressFor(destination, appendClickId ? clickId : null, query)
    headers.push('Location', location, 'Cache-Control', 'no-store', 'Content-Length', '0')
    // Otherwise browsers would not tell the destination where their visitors come from.
    res.removeHeader('Referrer-Policy')
    res.writeHead(302, headers).end()
    if (clickId !== null) {
      clicks.record({
        id: clickId,
        projectId: link.projectId,
        linkId: link.id,
        code: link.code,
        at,
        ipStorage,
        ...visitors.read(req, ip),
      })
    }
    return true
  }

  const direct: DirectHandler = (exchange) => {
    const link = links.get(exchange.parameter)
    return link instanceof Promise ? link.then((found) => follow(found, exchange)) : follow(link, exchange)
  }
  const refuseVisitor: RequestHandler = (req, res) => refuse(req, res, refusals.get(req) ?? UNKNOWN)

  return { operation: resolveLink, direct, handlers: [refuseVisitor] }
}

const queryOf = (url: string): string => {
  const start = url.indexOf('?')
  return start === -1 ? '' : url.slice(start + 1)
}

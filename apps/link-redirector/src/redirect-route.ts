import { AppError } from '@waymark/contracts/app-error'
import { resolveLink, unlockLink } from '@waymark/contracts/http/links'
import {
  addressFor,
  createClickIds,
  isPreviewBot,
  type LinkEnd,
  linkStateAt,
  variantFor,
  visitedCode,
} from '@waymark/domain/link'
import {
  type HttpRequest,
  protocolOf,
  queryTextOf,
  type Reply,
  type Route,
  requestHostOf,
  route,
} from '@waymark/service-kit'
import type { ClickLimits } from './click-limits.ts'
import type { ClickRecorder } from './click-recorder.ts'
import { type LinkCache, type PreparedLink, targetFor } from './link-cache.ts'
import type { LinkDomain } from './link-domain-queries.ts'
import { type Refusal, redirectTo, refusalReply, unknownLink } from './link-page.ts'
import type { LinkPasswords, LockedLink } from './link-passwords.ts'
import { passwordReply } from './password-page.ts'
import { previewReply } from './preview-card.ts'
import type { ProjectOptions } from './project-options.ts'
import type { VisitorReader } from './visitor.ts'

type RedirectDeps = {
  links: LinkCache
  optionsOf: (projectId: string) => ProjectOptions | Promise<ProjectOptions>
  limits: ClickLimits
  passwords: LinkPasswords
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

/** Answers a visitor of a code. Without `domain`: the domain of the installation. */
export type AnswerVisitor = (request: HttpRequest, code: string, domain?: LinkDomain) => Promise<Reply>

/**
 * What answers visitors of links. `follow` redirects and records the click, or asks for the password. `unlock` follows a
 * link when the request has its password.
 */
export type Redirects = { follow: AnswerVisitor; unlock: AnswerVisitor }

/** Creates the functions that redirect visitors and record clicks. */
export const createRedirects = ({
  links,
  optionsOf,
  limits,
  passwords,
  visitors,
  clicks,
  clock,
}: RedirectDeps): Redirects => {
  const newClickId = createClickIds()

  /**
   * Why a visitor is not redirected. If undefined, the click has been counted towards the limit, unless `isClick` is
   * false.
   */
  const refusalOf = (
    link: PreparedLink,
    at: number,
    request: HttpRequest,
    isClick: boolean,
  ): Refusal | undefined => {
    const state = linkStateAt(link, at)
    if (state === 'not_started') return unknownLink
    const end = state === 'open' ? limitOf(link, request, isClick) : state
    return end && { status: 410, error: ENDED[end], reason: end }
  }
  const limitOf = (link: PreparedLink, request: HttpRequest, isClick: boolean): LinkEnd | undefined => {
    if (link.clickLimit === null) return undefined
    const counts = isClick && request.method !== 'HEAD' && visitors.isHuman(request)
    return limits.allows(link, counts) ? undefined : 'click_limit_reached'
  }

  /** What is shown instead of the destination of a link with extras. Undefined: nothing. */
  const pageInstead = (
    link: PreparedLink,
    request: HttpRequest,
    domain: LinkDomain | undefined,
  ): Reply | undefined => {
    const locked = lockedLink(link)
    if (locked === undefined || passwords.isRemembered(request, locked)) return undefined
    const card = cardFor(link, request)
    if (card)
      return previewReply({ card, shortUrl: shortUrlOf(request, link, domain), destination: undefined })
    return passwordReply(request, { status: 403, reason: 'password_required' })
  }

  /** `isUnlocked`: whether the visitor has just given the password. */
  const follow = async (
    request: HttpRequest,
    code: string,
    domain?: LinkDomain,
    isUnlocked = false,
  ): Promise<Reply> => {
    const link = await links.get(visitedCode(code), domain?.id)
    const at = clock()
    const page =
      link === null || link.extras === null || isUnlocked ? undefined : pageInstead(link, request, domain)
    const refusal = link === null ? unknownLink : refusalOf(link, at, request, page === undefined)
    if (link === null || refusal !== undefined) {
      const address = refusal?.status === 410 ? (link?.expiredUrl ?? domain?.expiredUrl) : domain?.notFoundUrl
      return refusalReply(request, refusal ?? unknownLink, address)
    }
    if (page !== undefined) return page
    const { appendClickId, ipStorage } = await optionsOf(link.projectId)
    const { extras } = link
    const target = targetFor(link, () => visitors.describe(request))
    const variant =
      extras === null || target !== undefined
        ? undefined
        : variantFor(link.id, extras.variants, visitors.fingerprint(request))
    const destination = target ?? variant?.destination ?? link.destination
    // A HEAD request is not a click.
    const clickId =
      request.method === 'HEAD'
        ? null
        : newClickId(link.id, at, extras?.hasVariantNumbers ? (variant?.number ?? 0) : undefined)
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
        variant: variant?.key,
        ...visitors.read(request),
      })
    }
    const card = extras === null ? undefined : cardFor(link, request)
    if (card === undefined) return redirectTo(location)
    return previewReply({
      card,
      shortUrl: shortUrlOf(request, link, domain),
      destination: addressFor(destination, null, query),
    })
  }

  const unlock: AnswerVisitor = async (request, code, domain) => {
    const link = await links.get(visitedCode(code), domain?.id)
    // Before the password, so that a link that has not started answers like one that does not exist.
    if (link === null || linkStateAt(link, clock()) !== 'open') return follow(request, code, domain)
    const locked = lockedLink(link)
    if (locked === undefined) {
      request.replyHeaders.Allow = 'GET'
      throw new AppError('method_not_allowed', 'This link has no password; follow it with GET')
    }
    const problem = await passwords.check(request, locked)
    if (problem !== undefined) return passwordReply(request, problem)
    const reply = await follow(request, code, domain, true)
    if (reply.status !== 302) return reply
    // 303 makes the browser follow with GET.
    const headers = { ...reply.headers, 'Set-Cookie': passwords.cookieFor(request, locked) }
    return { ...reply, status: 303, headers }
  }

  return { follow, unlock }
}

const lockedLink = ({ id, projectId, code, extras }: PreparedLink): LockedLink | undefined => {
  const passwordHash = extras?.passwordHash
  return passwordHash ? { id, projectId, code, passwordHash } : undefined
}

/** The card of a link if a link-preview bot asks for it. */
const cardFor = ({ extras }: PreparedLink, { headers }: HttpRequest) =>
  extras?.og && isPreviewBot(headers['user-agent'] ?? null) ? extras.og : undefined

/** The URL of a link as the client sees it. */
const shortUrlOf = (
  request: HttpRequest,
  { code }: PreparedLink,
  domain: LinkDomain | undefined,
): string | undefined =>
  domain === undefined
    ? URL.parse(`/s/${code}`, `${protocolOf(request)}://${requestHostOf(request) ?? ''}`)?.href
    : `https://${domain.host}/${code}`

/** `GET /s/{code}`, and `POST` with a password. */
export const redirectRoutes = ({ follow, unlock }: Redirects): Route[] => [
  route(resolveLink, (request) => follow(request, request.params.code ?? '')),
  route(unlockLink, (request) => unlock(request, request.params.code ?? '')),
]

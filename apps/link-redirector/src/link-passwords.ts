import { createHmac, timingSafeEqual } from 'node:crypto'
import type { RateLimiter } from '@waymark/cache'
import { AppError } from '@waymark/contracts/app-error'
import { MAX_LINK_PASSWORD_LENGTH } from '@waymark/contracts/http/links'
import { verifyPassword } from '@waymark/domain/account'
import { clientNetworkOf } from '@waymark/domain/enrichment'
import { requireOngoingWork } from '@waymark/domain/fairness'
import { type HttpRequest, type PasswordQueue, protocolOf, readFormBody } from '@waymark/service-kit'
import { parseCookie } from 'cookie'
import type { PasswordProblem } from './password-page.ts'

/** A link with a password; `passwordHash` is a PHC string. */
export type LockedLink = { id: string; projectId: string; code: string; passwordHash: string }

const MAX_FORM_BYTES = 4 * 1024
const TRIES_PER_MINUTE = 5
const MINUTE_MS = 60_000
const RETRY_AFTER_S = 2

const BUSY: ReadonlySet<string> = new Set(['overloaded', 'rate_limited'])

const COOKIE = 'wm_link'
const REMEMBERED = /^(\d{1,12})\.([A-Za-z0-9_-]{43})$/
/** How long a browser remembers that the password was right. */
const REMEMBERED_S = 60 * 60

type LinkPasswordsDeps = {
  rateLimiter: RateLimiter
  /** In ms since the epoch. */
  clock: () => number
  /** The queue of all password hashes of the process. */
  queue: PasswordQueue
  verify?: (password: string, hash: string) => Promise<boolean>
}

/**
 * Checks the passwords of links in turns of projects and, within them, of visitors to a link. A right answer is remembered in a cookie that is signed with the hash of
 * the password, so that it ends when the password changes.
 */
export const createLinkPasswords = ({
  rateLimiter,
  clock,
  queue,
  verify = verifyPassword,
}: LinkPasswordsDeps) => {
  const isRight = async (
    password: string,
    { id, projectId, passwordHash }: LockedLink,
    network: string,
  ): Promise<boolean> =>
    password !== '' &&
    // Characters as the API counts them, some of which are two in `length`.
    [...password].length <= MAX_LINK_PASSWORD_LENGTH &&
    (await queue.run(
      { tenantId: `links of ${projectId}`, projectId: `${id} ${network}` },
      () => {
        requireOngoingWork()
        return verify(password, passwordHash)
      },
      { lane: 'links' },
    ))

  return {
    /**
     * Checks the password in the form of a request. Undefined when it is right.
     * @throws AppError unsupported_media_type or payload_too_large
     */
    check: async (request: HttpRequest, link: LockedLink): Promise<PasswordProblem | undefined> => {
      const password = (await readFormBody(request, MAX_FORM_BYTES)).get('password') ?? ''
      const network = clientNetworkOf(request.ip)
      const attempt = {
        bucket: 'link-passwords',
        key: `${link.id}:${network}`,
        limit: TRIES_PER_MINUTE,
        windowMs: MINUTE_MS,
      }
      const { allowed, resetMs } = await rateLimiter.consume(attempt)
      if (!allowed) return { status: 429, retryAfter: Math.max(1, Math.ceil(resetMs / 1000)) }
      try {
        return (await isRight(password, link, network))
          ? undefined
          : { status: 403, reason: 'wrong_password' }
      } catch (error) {
        // Nothing was tried.
        await rateLimiter.giveBack(attempt)
        if (!(error instanceof AppError) || !BUSY.has(error.code)) throw error
        return { status: 503, retryAfter: RETRY_AFTER_S }
      }
    },

    /** Whether the visitor gave the password of a link within the last hour. */
    isRemembered: ({ headers }: HttpRequest, link: LockedLink): boolean => {
      const given = parseCookie(headers.cookie ?? '')[COOKIE] ?? ''
      const [, expiresAt = '', signature = ''] = REMEMBERED.exec(given) ?? []
      return (
        Number(expiresAt) * 1000 > clock() &&
        timingSafeEqual(Buffer.from(signature), Buffer.from(sign(link, expiresAt)))
      )
    },

    /** The `Set-Cookie` header that remembers a right answer. The cookie is sent with requests for this link only. */
    cookieFor: (request: HttpRequest, link: LockedLink): string => {
      const expiresAt = `${Math.floor(clock() / 1000) + REMEMBERED_S}`
      const path = `${/^\/s\//i.test(request.path) ? '/s' : ''}/${link.code}`
      const secure = protocolOf(request) === 'https' ? '; Secure' : ''
      // Lax, because visitors come from other sites.
      return `${COOKIE}=${expiresAt}.${sign(link, expiresAt)}; Path=${path}; Max-Age=${REMEMBERED_S}; HttpOnly; SameSite=Lax${secure}`
    },
  }
}

export type LinkPasswords = ReturnType<typeof createLinkPasswords>

const sign = ({ id, passwordHash }: LockedLink, expiresAt: string): string =>
  createHmac('sha256', passwordHash).update(`${id}\n${expiresAt}`).digest('base64url')

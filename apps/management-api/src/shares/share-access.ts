import { createHmac, timingSafeEqual } from 'node:crypto'
import { AppError } from '@waymark/contracts/app-error'
import { MAX_SHARE_PASSWORD_LENGTH, SHARE_PASS_HEADER, type ShareKind } from '@waymark/contracts/http/shares'
import { hashToken, verifyPassword } from '@waymark/domain/account'
import { clientNetworkOf } from '@waymark/domain/enrichment'
import { requireOngoingWork } from '@waymark/domain/fairness'
import { chargeProject, type HttpRequest, type Platform } from '@waymark/service-kit'
import { requireAllowed } from '../http/require-allowed.ts'

const MINUTE_MS = 60_000
/** Requests to one link from all addresses, as a multiple of those of an address to all links. */
const ADDRESSES_PER_LINK = 10
const TRIES_PER_MINUTE = 5
/** How long a right password opens a share. */
const PASS_MS = 60 * MINUTE_MS
const PASS = /^(\d{1,15})\.([\w-]{43})$/

/** A share that is neither revoked nor expired. */
export type OpenShare = {
  id: string
  projectId: string
  tenantId: string
  name: string
  kind: ShareKind
  dashboardId: string | null
  passwordHash: string | null
  frameHosts: string[]
}

type Deps = Pick<Platform, 'clock' | 'db' | 'limits' | 'passwordQueue' | 'rateLimiter'> & {
  verify?: (password: string, hash: string) => Promise<boolean>
}

/** Who may see a share: whoever has its secret and, where it has one, its password. */
export const createShareAccess = ({
  clock,
  db,
  limits,
  passwordQueue,
  rateLimiter,
  verify = verifyPassword,
}: Deps) => {
  const limit = (bucket: string, key: string, perMinute: number, message: string): Promise<void> =>
    requireAllowed(rateLimiter, { bucket, key, limit: perMinute, windowMs: MINUTE_MS, message })

  /** Read from the database each time, so that a revocation acts at once. */
  const findOpen = async (secret: string): Promise<OpenShare | undefined> => {
    const hash = hashToken(secret)
    if (!hash) return undefined
    const found = await db.prisma.share.findFirst({
      where: {
        secretHash: new Uint8Array(hash),
        project: { archivedAt: null },
        OR: [{ expiresAt: null }, { expiresAt: { gt: new Date(clock()) } }],
      },
      include: { project: { select: { tenantId: true } } },
    })
    return found ? { ...found, kind: found.kind as ShareKind, tenantId: found.project.tenantId } : undefined
  }

  const find = async (secret: string): Promise<OpenShare> => {
    const share = await findOpen(secret)
    if (!share) throw new AppError('not_found', 'Not found')
    return share
  }

  const hasPass = ({ id, passwordHash }: OpenShare, request: HttpRequest): boolean => {
    if (passwordHash === null) return true
    const [, endsAt = '', signature = ''] = PASS.exec(`${request.headers[SHARE_PASS_HEADER] ?? ''}`) ?? []
    return (
      Number(endsAt) > clock() &&
      timingSafeEqual(Buffer.from(signature), Buffer.from(signatureOf(id, passwordHash, endsAt)))
    )
  }

  const requirePass = (share: OpenShare, request: HttpRequest): void => {
    if (!hasPass(share, request))
      throw new AppError('forbidden', 'This link needs a password', { code: 'password_required' })
  }

  return {
    /**
     * The share of a request to show its page, which has nothing of it; undefined for an unknown, revoked or expired link.
     * @throws AppError rate_limited
     */
    findForPage: async (secret: string, { ip }: HttpRequest): Promise<OpenShare | undefined> => {
      await limit('shared-addresses', clientNetworkOf(ip), limits.sharedPerMinute, 'Too many requests')
      return findOpen(secret)
    },

    /**
     * The share of a request, whose work is then charged to the project.
     * @throws AppError rate_limited, not_found
     */
    find: async (secret: string, { ip }: HttpRequest): Promise<OpenShare> => {
      await limit('shared-addresses', clientNetworkOf(ip), limits.sharedPerMinute, 'Too many requests')
      const share = await find(secret)
      await limit(
        'shared-links',
        share.id,
        ADDRESSES_PER_LINK * limits.sharedPerMinute,
        'Too many visitors of this link',
      )
      chargeProject(share, 'read')
      return share
    },

    requirePass,

    /**
     * Checks again after a wait that the link still opens the share.
     * @throws AppError not_found after a revocation, forbidden after a change of the password
     */
    requireStillOpen: async (secret: string, request: HttpRequest): Promise<void> =>
      requirePass(await find(secret), request),

    /**
     * Resolves to a pass when the password of a share is right. Tries are counted before the check.
     * @throws AppError rate_limited, overloaded, or forbidden for a wrong password
     */
    unlock: async (
      { id, projectId, passwordHash }: OpenShare,
      password: string,
      ip: string,
    ): Promise<{ pass: string; expiresAt: Date }> => {
      if (passwordHash === null) throw new AppError('not_found', 'Not found')
      const network = clientNetworkOf(ip)
      const attempt = {
        bucket: 'share-passwords',
        key: `${id}:${network}`,
        limit: TRIES_PER_MINUTE,
        windowMs: MINUTE_MS,
      }
      await requireAllowed(rateLimiter, { ...attempt, message: 'Too many tries' })
      const check = async (): Promise<boolean> => {
        requireOngoingWork()
        return verify(password, passwordHash)
      }
      // Of the visitors, not of the tenant, so that wrong tries do not delay its own passwords.
      const owner = { tenantId: `shares of ${projectId}`, projectId: `${id} ${network}` }
      let isRight: boolean
      try {
        isRight =
          [...password].length <= MAX_SHARE_PASSWORD_LENGTH &&
          (await passwordQueue.run(owner, check, { lane: 'links' }))
      } catch (error) {
        // Nothing was tried.
        await rateLimiter.giveBack(attempt)
        throw error
      }
      if (!isRight) throw new AppError('forbidden', 'The password is wrong', { code: 'wrong_password' })
      const expiresAt = new Date(clock() + PASS_MS)
      const endsAt = `${expiresAt.getTime()}`
      return { pass: `${endsAt}.${signatureOf(id, passwordHash, endsAt)}`, expiresAt }
    },
  }
}

export type ShareAccess = ReturnType<typeof createShareAccess>

/** Signed with the hash of the password, so that a pass ends when the password changes. */
const signatureOf = (id: string, passwordHash: string, endsAt: string): string =>
  createHmac('sha256', passwordHash).update(`${id}\n${endsAt}`).digest('base64url')

import { AppError } from '@waymark/contracts/app-error'
import {
  createAccessToken,
  listAccessTokens,
  MAX_ACCESS_TOKEN_DAYS,
  MAX_ACCESS_TOKENS,
  revokeAccessToken,
} from '@waymark/contracts/http/access-tokens'
import { missingCredentials } from '@waymark/contracts/http/operation'
import { dateOfTime } from '@waymark/contracts/rfc3339'
import type { Prisma } from '@waymark/database'
import { generateAccessToken } from '@waymark/domain/account'
import type { Route } from '@waymark/service-kit'
import { v7 as uuidv7 } from 'uuid'
import { pageOf } from '../http/page.ts'
import { requireFound, requireId, unprocessable } from '../http/validation.ts'
import { lockRow } from '../lock-queries.ts'
import type { ManagementDeps } from '../management-deps.ts'
import { queueAccountMail } from './account-mail-queries.ts'
import { coversProject, type Session, sameSignIn } from './session-queries.ts'

const MAX_MS = MAX_ACCESS_TOKEN_DAYS * 24 * 3_600_000

type AccessToken = Prisma.AccessTokenGetPayload<object>

/** The personal access tokens of the signed-in user. A token is shown once, in the answer that creates it. */
export const accessTokenRoutes = ({ accountRoutes, auditLog, db, clock }: ManagementDeps): Route[] => [
  accountRoutes.signedIn(createAccessToken, async ({ session, body, client }) => {
    const { user } = session
    const { name, projectIds } = body
    const now = clock()
    const expiresAt = parseExpiry(body.expiresAt, now)
    const { token, hash } = generateAccessToken()
    const created = await db.prisma.$transaction(async (tx) => {
      // Concurrent requests are counted one after another.
      await lockRow(tx, 'core.users', user.id, 'NO KEY UPDATE')
      // A concurrent reset of the password has ended the session.
      if (!(await tx.session.findUnique({ where: { id: session.id } })))
        throw new AppError('unauthorized', missingCredentials('session'))
      const usable = await tx.accessToken.count({
        where: { userId: user.id, expiresAt: { gt: new Date(now) } },
      })
      if (usable >= MAX_ACCESS_TOKENS)
        throw unprocessable('', 'quota', `would be more than ${MAX_ACCESS_TOKENS} tokens; revoke one first`)
      await requireMemberOf(tx, session, projectIds ?? [])
      await queueAccountMail(tx, user, 'access_token_created')
      return tx.accessToken.create({
        data: {
          id: uuidv7(),
          userId: user.id,
          name,
          tokenHash: new Uint8Array(hash),
          allProjects: projectIds === null,
          projectIds: projectIds ?? [],
          identityId: session.identityId,
          createdAt: new Date(now),
          expiresAt,
        },
      })
    })
    await auditLog.recordOfUser(user.id, {
      operation: createAccessToken.id,
      resourceId: created.id,
      body,
      client,
    })
    return { status: 201, body: { ...view(created), token } }
  }),

  accountRoutes.signedIn(listAccessTokens, async ({ session, query }) => ({
    body: await pageOf(
      query,
      (page) =>
        db.prisma.accessToken.findMany(
          page({ ...sameSignIn(session), expiresAt: { gt: new Date(clock()) } }),
        ),
      view,
    ),
  })),

  accountRoutes.signedIn(revokeAccessToken, async ({ session, id, client }) => {
    const where = { id: requireId(id), ...sameSignIn(session) }
    const { count } = await db.prisma.accessToken.deleteMany({ where })
    requireFound(count > 0 || null)
    await auditLog.recordOfUser(session.user.id, {
      operation: revokeAccessToken.id,
      resourceId: id,
      client,
    })
    return { status: 204 }
  }),
]

const view = ({ id, name, allProjects, projectIds, createdAt, lastUsedAt, expiresAt }: AccessToken) => ({
  id,
  name,
  projectIds: allProjects ? null : projectIds,
  createdAt,
  lastUsedAt,
  expiresAt,
})

const parseExpiry = (text: string, now: number): Date => {
  const time = dateOfTime(text)
  if (time.getTime() > now && time.getTime() <= now + MAX_MS) return time
  throw unprocessable(
    'expiresAt',
    'range',
    `must be in the future, at most ${MAX_ACCESS_TOKEN_DAYS} days`,
    text,
  )
}

/** @throws AppError unprocessable when the user is not a member of one of the projects */
const requireMemberOf = async (
  tx: Prisma.TransactionClient,
  session: Session,
  projectIds: readonly string[],
): Promise<void> => {
  const found = await tx.projectMember.findMany({
    where: { userId: session.user.id, projectId: { in: [...projectIds] }, project: { archivedAt: null } },
    select: { projectId: true },
  })
  const known = new Set(found.map(({ projectId }) => projectId))
  const missing = projectIds.find((id) => !known.has(id) || !coversProject(session, id))
  if (missing !== undefined)
    throw unprocessable('projectIds', 'member', 'must be projects of which you are a member', missing)
}

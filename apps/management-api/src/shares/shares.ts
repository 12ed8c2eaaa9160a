import { pick } from '@waymark/contracts/http/pick'
import {
  createShare,
  getShare,
  listShares,
  type NewShare,
  revokeShare,
  ShareView,
  updateShare,
} from '@waymark/contracts/http/shares'
import { dateOfTime } from '@waymark/contracts/rfc3339'
import type { Prisma } from '@waymark/database'
import { generateToken } from '@waymark/domain/account'
import type { Route } from '@waymark/service-kit'
import { v7 as uuidv7 } from 'uuid'
import { pageOf } from '../http/page.ts'
import { requireFound, requireId, unprocessable } from '../http/validation.ts'
import { lockRow } from '../lock-queries.ts'
import type { ManagementDeps } from '../management-deps.ts'
import { lockQuota, requireWithinQuota } from '../quotas.ts'

type Share = Prisma.ShareGetPayload<object>

/** Secret links to a dashboard or to the web analytics. The secret is shown once, in the answer that creates it. */
export const shareRoutes = ({
  projectRoute,
  db,
  clock,
  passwords,
  quotas,
  publicUrl,
}: ManagementDeps & { publicUrl: string }): Route[] => [
  projectRoute(createShare, async ({ projectId, body }) => {
    const { kind, name, password, frameHosts = [] } = body
    const dashboardId = dashboardIdOf(body)
    const expiresAt = readExpiry(body.expiresAt, clock())
    const passwordHash = typeof password === 'string' ? await passwords.hash(password) : null
    const { token, hash } = generateToken()
    const share = await db.prisma.$transaction(async (tx) => {
      await lockQuota(tx, projectId, 'shares')
      requireWithinQuota(quotas, 'shares', (await tx.share.count({ where: { projectId } })) + 1)
      if (dashboardId !== null) await requireDashboard(tx, projectId, dashboardId)
      return tx.share.create({
        data: {
          id: uuidv7(),
          projectId,
          name,
          kind,
          dashboardId,
          secretHash: new Uint8Array(hash),
          passwordHash,
          frameHosts,
          expiresAt: expiresAt ?? null,
        },
      })
    })
    return { status: 201, body: { ...view(share), secret: token, url: `${publicUrl}/shared/${token}` } }
  }),

  projectRoute(listShares, async ({ projectId, query }) => ({
    body: await pageOf(query, (page) => db.prisma.share.findMany(page({ projectId })), view),
  })),

  projectRoute(getShare, async ({ projectId, id }) => {
    const where = { id: requireId(id), projectId }
    return { body: view(requireFound(await db.prisma.share.findFirst({ where }))) }
  }),

  projectRoute(updateShare, async ({ projectId, id, requireMatch, checkEffects, body }) => {
    requireFound(await db.prisma.share.findFirst({ where: { id: requireId(id), projectId } }))
    const { password, expiresAt, ...rest } = body
    const expiry = readExpiry(expiresAt, clock())
    const passwordHash = typeof password === 'string' ? await passwords.hash(password) : password
    const updated = await db.prisma.$transaction(async (tx) => {
      const before = view(await lockShare(tx, projectId, id))
      requireMatch(before)
      checkEffects(before)
      return tx.share.update({
        where: { id },
        data: {
          ...rest,
          ...(passwordHash !== undefined && { passwordHash }),
          ...(expiry !== undefined && { expiresAt: expiry }),
          version: { increment: 1 },
          updatedAt: new Date(clock()),
        },
      })
    })
    return { body: view(updated) }
  }),

  projectRoute(revokeShare, async ({ projectId, id, requireMatch }) => {
    await db.prisma.$transaction(async (tx) => {
      requireMatch(view(await lockShare(tx, projectId, id)))
      await tx.share.delete({ where: { id } })
    })
    return { status: 204 }
  }),
]

const lockShare = async (tx: Prisma.TransactionClient, projectId: string, id: string): Promise<Share> => {
  await lockRow(tx, 'core.shares', requireId(id))
  return requireFound(await tx.share.findFirst({ where: { id, projectId } }))
}

/** @throws AppError unprocessable when the kind and the dashboard do not fit together */
const dashboardIdOf = ({ kind, dashboardId = null }: NewShare): string | null => {
  if (kind === 'dashboard' && dashboardId === null)
    throw unprocessable('dashboardId', 'required', 'is required with the kind dashboard')
  if (kind === 'web' && dashboardId !== null)
    throw unprocessable('dashboardId', 'kind', 'is used only with the kind dashboard', dashboardId)
  return dashboardId
}

/** @throws AppError unprocessable when the dashboard does not exist in the project */
const requireDashboard = async (
  tx: Prisma.TransactionClient,
  projectId: string,
  id: string,
): Promise<void> => {
  if (await tx.dashboard.findFirst({ where: { id, projectId } })) return
  throw unprocessable('dashboardId', 'reference', 'must be the id of a dashboard of the project', id)
}

/** Null: never. Undefined: not given. @throws AppError unprocessable for a time that has passed */
const readExpiry = (text: string | null | undefined, now: number): Date | null | undefined => {
  if (text === null || text === undefined) return text
  const expiresAt = dateOfTime(text)
  if (expiresAt.getTime() > now) return expiresAt
  throw unprocessable('expiresAt', 'future', 'must be in the future', text)
}

const view = ({ passwordHash, ...share }: Share) =>
  pick({ ...share, hasPassword: passwordHash !== null }, ShareView)

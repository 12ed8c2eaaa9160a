import { type ApiKeyScope, AppError, missingCredentials, type ProjectRole } from '@waymark/contracts'
import type { Prisma } from '@waymark/database'
import { roleAllows, scopeAllows, scopesOfRole } from '@waymark/domain'
import { roleOf } from '../accounts/read-account.ts'
import type { Actor } from '../http/project-route.ts'

type Transaction = Prisma.TransactionClient
type Owned = { projectId: string; userId: string }

/** One change of a project's members and keys at a time, so that nobody makes a key while they are removed. */
export const lockProjectMembers = async (tx: Transaction, projectId: string): Promise<void> => {
  await tx.$queryRaw`SELECT 1 FROM core.projects WHERE id = ${projectId}::uuid FOR NO KEY UPDATE`
}

/**
 * The owner of what an actor makes: the user, or the owner of the key, null when that is nobody's. Locks the members and
 * keys of the project until the transaction ends.
 * @throws AppError not_found or unauthorized when the actor was removed or revoked a moment ago
 */
export const ownerFor = async (tx: Transaction, projectId: string, actor: Actor): Promise<string | null> => {
  await lockProjectMembers(tx, projectId)
  if (actor.kind === 'user') {
    const member = await tx.projectMember.findFirst({ where: { projectId, userId: actor.id } })
    if (!member || !roleAllows(roleOf(member.role), 'admin')) throw new AppError('not_found', 'Not found')
    return actor.id
  }
  // The process may know a revoked key for some seconds longer.
  const key = await tx.apiKey.findFirst({ where: { id: actor.id, projectId, revokedAt: null } })
  if (!key) throw new AppError('unauthorized', missingCredentials('key'))
  return key.ownerId
}

/** Revokes a member's keys of a project: all, or with `role` those that hold more than that role allows. */
export const revokeKeysOf = async (
  tx: Transaction,
  { projectId, userId }: Owned,
  now: number,
  role?: ProjectRole,
): Promise<void> => {
  const keys = await tx.apiKey.findMany({
    where: { projectId, ownerId: userId, revokedAt: null },
    select: { id: true, scopes: true },
  })
  const held = role === undefined ? [] : scopesOfRole(role)
  const ids = keys
    .filter(({ scopes }) => !scopes.every((scope) => scopeAllows(held, scope as ApiKeyScope)))
    .map(({ id }) => id)
  await tx.apiKey.updateMany({ where: { id: { in: ids } }, data: { revokedAt: new Date(now) } })
  await tx.configChange.create({ data: { projectId } })
}

/** Makes a member's keys of a project those of another owner, null for nobody. */
export const handKeysOver = async (
  tx: Transaction,
  { projectId, userId }: Owned,
  ownerId: string | null,
): Promise<void> => {
  await tx.apiKey.updateMany({ where: { projectId, ownerId: userId }, data: { ownerId } })
}

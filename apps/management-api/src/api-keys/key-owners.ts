import type { ApiKeyScope } from '@waymark/contracts/api-key'
import { AppError } from '@waymark/contracts/app-error'
import { missingCredentials } from '@waymark/contracts/http/operation'
import type { ProjectRole } from '@waymark/contracts/project-role'
import type { Prisma } from '@waymark/database'
import { roleAllows, scopesOfRole } from '@waymark/domain/account'
import { scopeAllows } from '@waymark/domain/key'
import { roleOf } from '../accounts/read-account.ts'
import type { Actor } from '../http/project-route.ts'
import { lockRow } from '../lock-queries.ts'

type Transaction = Prisma.TransactionClient
type Owned = { projectId: string; userId: string }

/** Serializes changes of a project's members and keys, so that a member who is being removed cannot create a key. */
export const lockProjectMembers = (tx: Transaction, projectId: string): Promise<void> =>
  lockRow(tx, 'core.projects', projectId, 'NO KEY UPDATE')

/**
 * The owner of what an actor creates: the user, or the owner of the key, which may be null. Locks the members and keys
 * of the project until the transaction ends.
 * @throws AppError not_found or unauthorized when the actor has just been removed or revoked
 */
export const ownerFor = async (tx: Transaction, projectId: string, actor: Actor): Promise<string | null> => {
  await lockProjectMembers(tx, projectId)
  if (actor.kind === 'user') {
    const member = await tx.projectMember.findFirst({ where: { projectId, userId: actor.id } })
    if (!member || !roleAllows(roleOf(member.role), 'admin')) throw new AppError('not_found', 'Not found')
    return actor.id
  }
  // The process may cache a revoked key for some seconds.
  const key = await tx.apiKey.findFirst({ where: { id: actor.id, projectId, revokedAt: null } })
  if (!key) throw new AppError('unauthorized', missingCredentials('key'))
  return key.ownerId
}

/** Revokes a member's keys of a project: all, or with `role` those with more scopes than that role allows. */
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

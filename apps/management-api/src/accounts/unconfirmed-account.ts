import type { Prisma } from '@waymark/database'
import { dropSecondFactor } from './second-factors.ts'

type Tx = Prisma.TransactionClient
type User = { id: string; email: string }

/** Counts of what was removed, by kind. */
type Removed = {
  secondFactor: number
  identities: number
  apiKeys: number
  invitations: number
  webhooks: number
  oidcProviders: number
}

/**
 * Removes what was set up in an account whose address was never confirmed, and which someone else may have registered:
 * the second factor, linked providers, keys of kind `sec`, pending invitations, active webhooks, and the providers of
 * tenants that no one else with a confirmed address owns. Sessions and access tokens end with the password.
 *
 * Keys of kind `pub` stay, because they read nothing and pages would lose their events. Memberships stay as well.
 * @returns the kinds of which something was removed
 */
export const removeUnconfirmedSetUp = async (tx: Tx, user: User, now: Date): Promise<string[]> => {
  const removed: Removed = {
    secondFactor: await dropSecondFactors(tx, user),
    identities: (await tx.userIdentity.deleteMany({ where: { userId: user.id } })).count,
    apiKeys: await revokeSecretKeys(tx, user, now),
    invitations: await revokePendingInvitations(tx, user, now),
    webhooks: await pauseWebhooks(tx, user, now),
    oidcProviders: await removeProviders(tx, user),
  }
  return Object.entries(removed).flatMap(([kind, count]) => (count > 0 ? [kind] : []))
}

const dropSecondFactors = async (tx: Tx, user: User): Promise<number> => {
  const where = { userId: user.id }
  const count = await tx.secondFactor.count({ where })
  await dropSecondFactor(tx, user)
  // One of which no code was confirmed yet.
  await tx.secondFactor.deleteMany({ where })
  await tx.recoveryCode.deleteMany({ where })
  return count
}

const revokeSecretKeys = async (tx: Tx, { id }: User, now: Date): Promise<number> => {
  const where = { ownerId: id, kind: 'sec', revokedAt: null }
  const keys = await tx.apiKey.findMany({ where, select: { projectId: true } })
  const { count } = await tx.apiKey.updateMany({ where, data: { revokedAt: now } })
  const projectIds = new Set(keys.map(({ projectId }) => projectId))
  await tx.configChange.createMany({ data: [...projectIds].map((projectId) => ({ projectId })) })
  return count
}

const revokePendingInvitations = async (tx: Tx, { id }: User, now: Date): Promise<number> => {
  const where = { invitedBy: id, acceptedAt: null, revokedAt: null }
  return (await tx.invitation.updateMany({ where, data: { revokedAt: now } })).count
}

const pauseWebhooks = async (tx: Tx, { id }: User, now: Date): Promise<number> => {
  const where = { ownerId: id, status: 'active', deletedAt: null }
  const data = { status: 'paused', version: { increment: 1 }, updatedAt: now }
  return (await tx.webhook.updateMany({ where, data })).count
}

const removeProviders = async (tx: Tx, { id }: User): Promise<number> => {
  const ownedBy = (member: Prisma.ProjectMemberWhereInput): Prisma.TenantWhereInput => ({
    projects: { some: { members: { some: { role: 'owner', ...member } } } },
  })
  const tenants = await tx.tenant.findMany({
    where: {
      ...ownedBy({ userId: id }),
      NOT: ownedBy({ userId: { not: id }, user: { emailVerifiedAt: { not: null } } }),
    },
    select: { id: true },
  })
  const tenantIds = tenants.map((tenant) => tenant.id)
  // Without a provider, a tenant that requires one would be closed to its members.
  await tx.tenant.updateMany({ where: { id: { in: tenantIds } }, data: { oidcOnly: false } })
  return (await tx.oidcProvider.deleteMany({ where: { tenantId: { in: tenantIds } } })).count
}

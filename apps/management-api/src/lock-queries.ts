import { Prisma } from '@waymark/database'
import { requireCallerWithLock } from './http/caller-queries.ts'
import { requireId } from './http/validation.ts'

type Transaction = Pick<Prisma.TransactionClient, '$executeRaw' | '$queryRaw' | '$queryRawUnsafe'>

type Table =
  | 'core.alerts'
  | 'core.api_keys'
  | 'core.dashboards'
  | 'core.event_definitions'
  | 'core.insights'
  | 'core.oidc_providers'
  | 'core.projects'
  | 'core.shares'
  | 'core.subscriptions'
  | 'core.tenants'
  | 'core.users'
  | 'coupon.coupons'
  | 'coupon.loyalty_programmes'
  | 'coupon.pools'
  | 'email.senders'
  | 'email.suppressions'
  | 'email.triggers'
  | 'link.domains'
  | 'webhook.webhooks'

/**
 * Locks a row until the transaction ends, if it exists. `NO KEY UPDATE` lets others insert rows that refer to it. The wait
 * for the lock may have been long, so the caller of the request is checked after it.
 * @throws AppError not_found when `id` is not a UUID; what refuses a caller whose rights were revoked
 */
export const lockRow = async (
  tx: Pick<Transaction, '$queryRaw' | '$queryRawUnsafe'>,
  table: Table,
  id: string,
  strength: 'UPDATE' | 'NO KEY UPDATE' = 'UPDATE',
): Promise<void> => {
  await tx.$queryRaw`
    SELECT 1 FROM ${Prisma.raw(table)} WHERE id = ${requireId(id)}::uuid FOR ${Prisma.raw(strength)}`
  await requireCallerWithLock(tx)
}

/** Takes the advisory lock of a name until the transaction ends. Checks the caller after it, as `lockRow`. */
export const lockName = async (
  tx: Pick<Transaction, '$executeRaw' | '$queryRawUnsafe'>,
  name: string,
): Promise<void> => {
  await tx.$executeRaw`SELECT pg_advisory_xact_lock(hashtextextended(${name}, 0))`
  await requireCallerWithLock(tx)
}

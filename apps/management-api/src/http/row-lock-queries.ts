import { Prisma } from '@waymark/database'
import { requireId } from './validation.ts'

type Table =
  | 'core.api_keys'
  | 'core.dashboards'
  | 'core.event_definitions'
  | 'core.insights'
  | 'core.projects'
  | 'email.senders'
  | 'email.suppressions'
  | 'email.triggers'
  | 'webhook.webhooks'

/**
 * Locks a row until the transaction ends, if it exists.
 * @throws AppError not_found when `id` is not a UUID
 */
export const lockRow = async (
  tx: Pick<Prisma.TransactionClient, '$queryRaw'>,
  table: Table,
  id: string,
): Promise<void> => {
  await tx.$queryRaw`SELECT 1 FROM ${Prisma.raw(table)} WHERE id = ${requireId(id)}::uuid FOR UPDATE`
}

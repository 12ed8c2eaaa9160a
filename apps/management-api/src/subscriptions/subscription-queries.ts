import { Prisma } from '@waymark/database'
import { v7 as uuidv7 } from 'uuid'
import { findInTurns } from '../due-queries.ts'

/** Subscriptions of a project that are measured before other projects have their turn again. */
const PER_PROJECT = 2

/** When the subscriptions of projects in use are due. */
export const dueSubscriptions = (): Prisma.Sql => Prisma.sql`
  SELECT s.id, s.project_id, s.due_at FROM core.subscriptions s
  JOIN core.projects p ON p.id = s.project_id AND p.archived_at IS NULL`

/** The ids of subscriptions that are due, up to `limit`. Projects take turns. */
export const findDueSubscriptions = (
  db: Pick<Prisma.TransactionClient, '$queryRaw'>,
  now: Date,
  limit: number,
): Promise<string[]> =>
  findInTurns(db, Prisma.sql`${dueSubscriptions()} WHERE s.due_at <= ${now}`, {
    perProject: PER_PROJECT,
    limit,
  })

/** Makes members recipients of a subscription with their present addresses. Resolves to those who are members still. */
export const addRecipients = (
  db: Pick<Prisma.TransactionClient, '$queryRaw'>,
  { projectId, subscriptionId }: { projectId: string; subscriptionId: string },
  userIds: readonly string[],
): Promise<{ id: string; userId: string }[]> => {
  const ids = userIds.map(() => uuidv7())
  return db.$queryRaw<{ id: string; userId: string }[]>`
    INSERT INTO core.subscription_recipients (id, subscription_id, project_id, user_id, address)
    SELECT given.id, ${subscriptionId}::uuid, ${projectId}::uuid, u.id, u.email
    FROM unnest(${ids}::uuid[], ${userIds}::uuid[]) AS given (id, user_id)
    JOIN core.project_members m ON m.project_id = ${projectId}::uuid AND m.user_id = given.user_id
    JOIN core.users u ON u.id = given.user_id
    ON CONFLICT (subscription_id, user_id) DO UPDATE SET address = excluded.address
    RETURNING id::text, user_id::text AS "userId"`
}

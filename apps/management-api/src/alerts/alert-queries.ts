import { Prisma } from '@waymark/database'
import { findInTurns } from '../due-queries.ts'

/** Alerts of a project that are evaluated before other projects have their turn again. */
const PER_PROJECT = 5

/** When the alerts of projects in use are due. */
export const dueAlerts = (): Prisma.Sql => Prisma.sql`
  SELECT a.id, a.project_id, a.due_at FROM core.alerts a
  JOIN core.projects p ON p.id = a.project_id AND p.archived_at IS NULL`

/**
 * The ids of alerts that are due, up to `limit`. Projects take turns, so that one with very many alerts does not delay those
 * of others.
 */
export const findDueAlerts = (
  db: Pick<Prisma.TransactionClient, '$queryRaw'>,
  now: Date,
  limit: number,
): Promise<string[]> =>
  findInTurns(db, Prisma.sql`${dueAlerts()} WHERE a.due_at <= ${now}`, { perProject: PER_PROJECT, limit })

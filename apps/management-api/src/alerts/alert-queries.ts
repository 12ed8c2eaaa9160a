import { Prisma } from '@waymark/database'
import { findInTurns } from '../due-queries.ts'

/** Alerts of a project that are evaluated before other projects have their turn again. */
const PER_PROJECT = 5

/**
 * The ids of alerts that are due, up to `limit`. Projects take turns, so that one with very many alerts does not delay those
 * of others.
 */
export const findDueAlerts = (
  db: Pick<Prisma.TransactionClient, '$queryRaw'>,
  now: Date,
  limit: number,
): Promise<string[]> =>
  findInTurns(
    db,
    Prisma.sql`SELECT a.id, a.project_id, a.due_at FROM core.alerts a
      JOIN core.projects p ON p.id = a.project_id AND p.archived_at IS NULL WHERE a.due_at <= ${now}`,
    { perProject: PER_PROJECT, limit },
  )

/** How long the alert that has been due for the longest time waits, in s. 0 when none is due. */
export const readOldestDueAlert = async (
  db: Pick<Prisma.TransactionClient, '$queryRaw'>,
  now: Date,
): Promise<number> => {
  const [row] = await db.$queryRaw<{ seconds: number }[]>`
    SELECT coalesce(greatest(0, extract(epoch FROM ${now} - min(a.due_at))), 0)::float8 AS seconds
    FROM core.alerts a JOIN core.projects p ON p.id = a.project_id AND p.archived_at IS NULL`
  return row?.seconds ?? 0
}

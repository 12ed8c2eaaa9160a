import type { Prisma } from '@waymark/database'

/** Alerts of a project that are evaluated before other projects have their turn again. */
const PER_PROJECT = 5

/**
 * The ids of alerts that are due, up to `limit`. Projects take turns, so that one with very many alerts does not delay those
 * of others.
 */
export const findDueAlerts = async (
  db: Pick<Prisma.TransactionClient, '$queryRaw'>,
  now: Date,
  limit: number,
): Promise<string[]> => {
  const due = await db.$queryRaw<{ id: string }[]>`
    SELECT id::text FROM (
      SELECT a.id, a.due_at, row_number() OVER (PARTITION BY a.project_id ORDER BY a.due_at, a.id) AS place
      FROM core.alerts a JOIN core.projects p ON p.id = a.project_id AND p.archived_at IS NULL
      WHERE a.due_at <= ${now}
    ) AS ranked
    WHERE place <= ${PER_PROJECT} ORDER BY place, due_at, id LIMIT ${limit}`
  return due.map(({ id }) => id)
}

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

import type { Prisma } from '@waymark/database'

/** Changes of a project that are applied before other projects have their turn again. */
const PER_PROJECT = 25

/**
 * The ids of changes that are due, up to `limit`: the earliest of each project, in the order of their times. A project with
 * very many does not delay those of others.
 */
export const findDueChanges = async (
  db: Pick<Prisma.TransactionClient, '$queryRaw'>,
  now: Date,
  limit: number,
): Promise<string[]> => {
  const due = await db.$queryRaw<{ id: string }[]>`
    SELECT id::text FROM (
      SELECT id, at, row_number() OVER (PARTITION BY project_id ORDER BY at, id) AS place
      FROM decision.scheduled_changes WHERE status = 'pending' AND at <= ${now}
    ) AS ranked
    WHERE place <= ${PER_PROJECT} ORDER BY place, at, id LIMIT ${limit}`
  return due.map(({ id }) => id)
}

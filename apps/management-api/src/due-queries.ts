import { Prisma } from '@waymark/database'

/**
 * The ids of work that is due, up to `limit`, the earliest of each project first. Projects take turns: after `perProject` of
 * one, the others come first, so that a project with very many does not delay them. `due` selects `id`, `project_id` and
 * `due_at`.
 */
export const findInTurns = async (
  db: Pick<Prisma.TransactionClient, '$queryRaw'>,
  due: Prisma.Sql,
  { perProject, limit }: { perProject: number; limit: number },
): Promise<string[]> => {
  const found = await db.$queryRaw<{ id: string }[]>(Prisma.sql`
    SELECT id::text FROM (
      SELECT id, due_at, row_number() OVER (PARTITION BY project_id ORDER BY due_at, id) AS place
      FROM (${due}) AS due
    ) AS ranked
    WHERE place <= ${perProject} ORDER BY place, due_at, id LIMIT ${limit}`)
  return found.map(({ id }) => id)
}

/** How long the work that has been due for the longest time waits, in s. 0 when none is due. `due` selects `due_at`. */
export const readOldestDue = async (
  db: Pick<Prisma.TransactionClient, '$queryRaw'>,
  due: Prisma.Sql,
  now: Date,
): Promise<number> => {
  const [row] = await db.$queryRaw<{ seconds: number }[]>(Prisma.sql`
    SELECT coalesce(greatest(0, extract(epoch FROM ${now} - min(due_at))), 0)::float8 AS seconds
    FROM (${due}) AS due`)
  return row?.seconds ?? 0
}

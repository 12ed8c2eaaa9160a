import { Prisma } from '@waymark/database'
import { findInTurns } from '../due-queries.ts'

/** Changes of a project that are applied before other projects have their turn again. */
const PER_PROJECT = 25

/**
 * The ids of changes that are due, up to `limit`: the earliest of each project, in the order of their times. A project with
 * very many does not delay those of others.
 */
export const findDueChanges = (
  db: Pick<Prisma.TransactionClient, '$queryRaw'>,
  now: Date,
  limit: number,
): Promise<string[]> =>
  findInTurns(
    db,
    Prisma.sql`SELECT id, project_id, at AS due_at FROM decision.scheduled_changes
      WHERE status = 'pending' AND at <= ${now}`,
    { perProject: PER_PROJECT, limit },
  )

import { Prisma } from '@waymark/database'
import { findInTurns } from '../due-queries.ts'

type Db = Pick<Prisma.TransactionClient, '$queryRaw'>

/** Proposals of a project that are applied before other projects have their turn again. */
const PER_PROJECT = 25

/**
 * The ids of proposals that are to be applied, up to `limit`: the earliest of each project first. A project with very many
 * does not delay those of others.
 */
export const findDueProposals = (db: Db, now: Date, limit: number): Promise<string[]> =>
  findInTurns(db, Prisma.sql`SELECT id, project_id, due_at FROM decision.proposals WHERE due_at <= ${now}`, {
    perProject: PER_PROJECT,
    limit,
  })

/** The newest version of a decision, up to one, that was active in an environment. Undefined when none is kept. */
export const findActiveVersion = async (
  db: Db,
  decisionId: string,
  upTo: number,
): Promise<{ version: number; status: string; definition: Prisma.JsonValue } | undefined> => {
  const [found] = await db.$queryRaw<{ version: number; status: string; definition: Prisma.JsonValue }[]>`
    SELECT version, status, definition FROM decision.decision_versions
    WHERE decision_id = ${decisionId}::uuid AND version <= ${upTo}
      AND (status = 'active' OR jsonb_path_exists(definition, '$.environments.*.status ? (@ == "active")'))
    ORDER BY version DESC LIMIT 1`
  return found
}

import type { Prisma } from '@waymark/database'

/** The key of a decision that is not archived and has an entry for an environment; undefined when there is none. */
export const findDecisionIn = async (
  tx: Pick<Prisma.TransactionClient, '$queryRaw'>,
  projectId: string,
  environment: string,
): Promise<string | undefined> => {
  const [found] = await tx.$queryRaw<{ key: string }[]>`
    SELECT key FROM decision.decisions
    WHERE project_id = ${projectId}::uuid AND status <> 'archived'
      AND jsonb_exists(definition -> 'environments', ${environment})
    ORDER BY id LIMIT 1`
  return found?.key
}

import type { Prisma } from '@waymark/database'

/** Prevents the deletion of insights until the transaction ends. Resolves to the ids that exist in the project. */
export const lockInsights = async (
  tx: Pick<Prisma.TransactionClient, '$queryRaw'>,
  projectId: string,
  ids: readonly string[],
): Promise<string[]> => {
  const found = await tx.$queryRaw<{ id: string }[]>`
    SELECT id FROM core.insights WHERE project_id = ${projectId}::uuid AND id = ANY (${ids}::uuid[])
    ORDER BY id FOR KEY SHARE`
  return found.map(({ id }) => id)
}

/** Removes an insight from the dashboards of its project that show it. */
export const removeFromDashboards = async (
  tx: Pick<Prisma.TransactionClient, '$executeRaw'>,
  projectId: string,
  insightId: string,
  updatedAt: Date,
): Promise<void> => {
  await tx.$executeRaw`
    UPDATE core.dashboards SET insight_ids = array_remove(insight_ids, ${insightId}::uuid), version = version + 1,
      updated_at = ${updatedAt}
    WHERE project_id = ${projectId}::uuid AND ${insightId}::uuid = ANY (insight_ids)`
}

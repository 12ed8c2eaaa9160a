import type { Prisma } from '@waymark/database'

/** Locks the definition of an event name until the transaction ends, if it exists. */
export const lockDefinitionOf = async (
  tx: Pick<Prisma.TransactionClient, '$queryRaw'>,
  projectId: string,
  name: string,
): Promise<void> => {
  await tx.$queryRaw`
    SELECT 1 FROM core.event_definitions WHERE project_id = ${projectId}::uuid AND name = ${name} FOR UPDATE`
}

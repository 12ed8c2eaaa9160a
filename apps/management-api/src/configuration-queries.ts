import type { Prisma } from '@waymark/database'

/** The size of a project's configuration in bytes: its schemas, filters, decisions and segments as text. */
export const readConfigurationBytes = async (
  tx: Pick<Prisma.TransactionClient, '$queryRaw'>,
  projectId: string,
): Promise<number> => {
  const [sum] = await tx.$queryRaw<{ bytes: number }[]>`
    SELECT coalesce(sum(octet_length(part::text)), 0)::float8 AS bytes FROM (
      SELECT schema FROM core.event_definitions WHERE project_id = ${projectId}::uuid AND archived_at IS NULL
      UNION ALL
      SELECT filter FROM core.metering_selectors WHERE project_id = ${projectId}::uuid AND archived_at IS NULL
      UNION ALL
      SELECT filter FROM email.triggers WHERE project_id = ${projectId}::uuid AND status <> 'archived'
      UNION ALL
      SELECT definition FROM decision.decisions WHERE project_id = ${projectId}::uuid
      UNION ALL
      SELECT condition FROM decision.segments WHERE project_id = ${projectId}::uuid
    ) AS parts (part)`
  return sum?.bytes ?? 0
}

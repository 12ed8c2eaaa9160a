import type { Platform } from '@waymark/service-kit'
import { roleOf } from '../accounts/read-account.ts'

const FIND = `
  SELECT m.role, p.tenant_id AS "tenantId", t.requires_second_factor AS "requiresSecondFactor"
  FROM core.project_members m JOIN core.projects p ON p.id = m.project_id JOIN core.tenants t ON t.id = p.tenant_id
  WHERE m.project_id = $1 AND m.user_id = $2 AND p.archived_at IS NULL`

type Row = { role: string; tenantId: string; requiresSecondFactor: boolean }

/** Reads a user's membership of a project that is not archived, in one statement because every request of a user needs it. */
export const findMembership = async (
  { pool }: Pick<Platform['db'], 'pool'>,
  projectId: string,
  userId: string,
) => {
  const { rows } = await pool.query<Row>({
    name: 'find-membership',
    text: FIND,
    values: [projectId, userId],
  })
  const [row] = rows
  return row && { ...row, role: roleOf(row.role) }
}

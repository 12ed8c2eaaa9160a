import type { ClientBase, Pool } from 'pg'

/** An entry of the audit log as it is stored. */
type StoredEntry = {
  actor: { kind: 'user' | 'key'; id: string; accessTokenId?: string | null }
  operation: string
  resourceId: string | null
  /** Names of the fields of the request's body. */
  fields: readonly string[]
  network: string | null
  requestId: string
  at: Date
}

const INSERT = `
  INSERT INTO core.audit_log
    (id, project_id, actor_kind, actor_id, access_token_id, operation, resource_id, fields, network, request_id, at)
  SELECT * FROM unnest($1::uuid[], $2::uuid[]) AS entry (id, project_id)
  CROSS JOIN (VALUES ($3, $4::uuid, $5::uuid, $6, $7, $8::text[], $9, $10, $11::timestamptz)) AS what`

const PROJECTS = `
  SELECT m.project_id FROM core.project_members m JOIN core.projects p ON p.id = m.project_id
  WHERE m.user_id = $1 AND p.archived_at IS NULL ORDER BY m.project_id`

/** Stores an entry in each of the projects, with the id given beside the project's. */
export const insertAuditEntries = async (
  client: ClientBase,
  entries: readonly { id: string; projectId: string }[],
  { actor, operation, resourceId, fields, network, requestId, at }: StoredEntry,
): Promise<void> => {
  const ids = entries.map(({ id }) => id)
  const projectIds = entries.map(({ projectId }) => projectId)
  await client.query({
    name: 'write-audit-log',
    text: INSERT,
    values: [
      ...[ids, projectIds, actor.kind, actor.id, actor.accessTokenId ?? null],
      ...[operation, resourceId, fields, network, requestId, at],
    ],
  })
}

/** The projects of a user that are not archived. */
export const readProjectIds = async (pool: Pool, userId: string): Promise<string[]> => {
  const { rows } = await pool.query<{ project_id: string }>(PROJECTS, [userId])
  return rows.map(({ project_id }) => project_id)
}

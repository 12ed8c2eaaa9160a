import { auditRecords } from '@waymark/contracts/topics'
import type { ClientBase, Pool } from 'pg'
import { NIL, v7 as uuidv7 } from 'uuid'
import { addToOutbox } from '../outbox/index.ts'

/** Who acted; `accessTokenId` is that of the personal access token of a user who sent one. */
export type AuditActor = {
  kind: 'user' | 'key' | 'operator' | 'system'
  id: string
  accessTokenId?: string | null
}

/** Whoever runs a command of the deployment. */
export const OPERATOR: AuditActor = { kind: 'operator', id: NIL }

/** Nobody of the project. */
export const SYSTEM: AuditActor = { kind: 'system', id: NIL }

/** The outbox lane of entries. */
export const AUDIT_LANE = 'audit'

/** An action to record in the audit log of one or more projects. */
export type AuditAction = {
  actor: AuditActor
  /** An operation's id, or the name of a command of the operator. */
  operation: string
  resourceId: string | null
  /** Names of the fields of the request's body. */
  fields: string[]
  /** Why they did it. Only of operations that need a reason. */
  reason?: string | null
  network: string | null
  requestId: string | null
  at: Date
}

const INSERT = `
  INSERT INTO core.audit_log
    (id, project_id, actor_kind, actor_id, access_token_id, operation, resource_id, fields, network, request_id, at, reason)
  SELECT * FROM unnest($1::uuid[], $2::uuid[]) AS entry (id, project_id)
  CROSS JOIN (VALUES ($3, $4::uuid, $5::uuid, $6, $7, $8::text[], $9, $10, $11::timestamptz, $12)) AS what`

const PROJECTS = `
  SELECT m.project_id FROM core.project_members m JOIN core.projects p ON p.id = m.project_id
  WHERE m.user_id = $1 AND p.archived_at IS NULL ORDER BY m.project_id`

/** Stores an entry in the audit log of each project, and queues it to be published. */
export const storeAuditEntries = async (
  client: ClientBase,
  projectIds: readonly string[],
  action: AuditAction,
): Promise<void> => {
  const { actor, operation, resourceId, fields, network, requestId, at, reason = null } = action
  const ids = projectIds.map(() => uuidv7())
  const stored = client.query({
    name: 'write-audit-log',
    text: INSERT,
    values: [
      ids,
      projectIds,
      actor.kind,
      actor.id,
      actor.accessTokenId ?? null,
      operation,
      resourceId,
      fields,
      network,
      requestId,
      at,
      reason,
    ],
  })
  const { kind, id: actorId } = actor
  const published = {
    actor: { kind, id: actorId },
    operation,
    resourceId,
    fields,
    network,
    requestId,
    at: at.toISOString(),
    ...(reason !== null && { reason }),
  }
  const records = projectIds.map((projectId, index) => ({
    key: projectId,
    value: { ...published, v: 1 as const, id: ids[index] ?? uuidv7(), projectId },
  }))
  // Sent together.
  await Promise.all([stored, addToOutbox(client, AUDIT_LANE, auditRecords, records)])
}

/** The projects of a user that are not archived. */
export const readProjectIds = async (
  pool: Pick<Pool, 'query'> | ClientBase,
  userId: string,
): Promise<string[]> => {
  const { rows } = await pool.query<{ project_id: string }>(PROJECTS, [userId])
  return rows.map(({ project_id }) => project_id)
}

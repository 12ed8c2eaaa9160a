import type { Log } from '@waymark/contracts'
import type { Database } from '@waymark/database'
import { v7 as uuidv7 } from 'uuid'
import type { Client } from '../http/request-parts.ts'

/** Something that was done, to be remembered. */
export type AuditEntry = {
  actor: { kind: 'user' | 'key'; id: string }
  /** An operation's id. */
  operation: string
  resourceId?: string | null
  /** The body that was sent; the names of its fields are remembered. */
  body?: unknown
  client: Client
}

const MAX_FIELDS = 50
const MAX_LENGTH = 200

const INSERT = `
  INSERT INTO core.audit_log
    (id, project_id, actor_kind, actor_id, operation, resource_id, fields, network, request_id, at)
  SELECT * FROM unnest($1::uuid[], $2::uuid[]) AS entry (id, project_id)
  CROSS JOIN (VALUES ($3, $4::uuid, $5, $6, $7::text[], $8, $9, $10::timestamptz)) AS what`

const PROJECTS = `
  SELECT m.project_id FROM core.project_members m JOIN core.projects p ON p.id = m.project_id
  WHERE m.user_id = $1 AND p.archived_at IS NULL ORDER BY m.project_id`

/**
 * Remembers who did what. It is written once the thing is done, before the answer; when it cannot be written, the
 * entry goes to the log of the process instead and the answer stays what it is.
 */
export const createAuditLog = ({
  db: { pool },
  clock,
  log,
}: {
  db: Pick<Database, 'pool'>
  clock: () => number
  log: Log
}) => {
  const write = async (projectIds: readonly string[], entry: AuditEntry): Promise<void> => {
    const { actor, operation, resourceId = null, body, client } = entry
    await pool.query({
      name: 'write-audit-log',
      text: INSERT,
      values: [
        projectIds.map(() => uuidv7()),
        projectIds,
        actor.kind,
        actor.id,
        operation,
        resourceId?.slice(0, MAX_LENGTH) ?? null,
        fieldsOf(body),
        client.network,
        client.requestId,
        new Date(clock()),
      ],
    })
  }
  const orLog = async (entry: AuditEntry, writing: Promise<void>): Promise<void> => {
    try {
      await writing
    } catch (error) {
      const { actor, operation, resourceId, client } = entry
      log.error(
        { err: error, actor, operation, resourceId, requestId: client.requestId },
        'Audit entry could not be written',
      )
    }
  }

  return {
    /** Remembers what was done in a project. Never rejects. */
    record: (projectId: string, entry: AuditEntry): Promise<void> => orLog(entry, write([projectId], entry)),

    /** Remembers what a user did with their account, in each project that they are a member of. Never rejects. */
    recordOfUser: (userId: string, entry: Omit<AuditEntry, 'actor'>): Promise<void> => {
      const whole = { ...entry, actor: { kind: 'user' as const, id: userId } }
      const writing = async () => {
        const { rows } = await pool.query<{ project_id: string }>(PROJECTS, [userId])
        if (rows.length > 0)
          await write(
            rows.map(({ project_id }) => project_id),
            whole,
          )
      }
      return orLog(whole, writing())
    },
  }
}

export type AuditLog = ReturnType<typeof createAuditLog>

const fieldsOf = (body: unknown): string[] =>
  typeof body === 'object' && body !== null && !Array.isArray(body)
    ? Object.keys(body)
        .slice(0, MAX_FIELDS)
        .map((name) => name.slice(0, MAX_LENGTH))
    : []

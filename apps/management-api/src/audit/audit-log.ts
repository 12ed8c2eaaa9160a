import type { Platform } from '@waymark/service-kit'
import { v7 as uuidv7 } from 'uuid'
import type { Client } from '../http/request-parts.ts'

/** Who acted; `accessTokenId` is that of the personal access token of a user who sent one. */
type Actor = { kind: 'user' | 'key'; id: string; accessTokenId?: string | null }

/** An action to record. */
type AuditEntry = {
  actor: Actor
  /** An operation's id. */
  operation: string
  resourceId?: string | null
  /** The body of the request, of which only the names of its fields are stored. */
  body?: unknown
  client: Client
}

const MAX_FIELDS = 50
const MAX_LENGTH = 200

const INSERT = `
  INSERT INTO core.audit_log
    (id, project_id, actor_kind, actor_id, access_token_id, operation, resource_id, fields, network, request_id, at)
  SELECT * FROM unnest($1::uuid[], $2::uuid[]) AS entry (id, project_id)
  CROSS JOIN (VALUES ($3, $4::uuid, $5::uuid, $6, $7, $8::text[], $9, $10, $11::timestamptz)) AS what`

const PROJECTS = `
  SELECT m.project_id FROM core.project_members m JOIN core.projects p ON p.id = m.project_id
  WHERE m.user_id = $1 AND p.archived_at IS NULL ORDER BY m.project_id`

/**
 * Records who did what, after the change and before the answer. An entry that cannot be stored goes to the log of the
 * process and does not change the answer.
 */
export const createAuditLog = ({ db: { pool }, clock, log }: Pick<Platform, 'db' | 'clock' | 'log'>) => {
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
        actor.accessTokenId ?? null,
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
    /** Records an action in a project. Never rejects. */
    record: (projectId: string, entry: AuditEntry): Promise<void> => orLog(entry, write([projectId], entry)),

    /** Records what a user did with their account, in each of their projects. Never rejects. */
    recordOfUser: (
      userId: string,
      entry: Omit<AuditEntry, 'actor'> & { accessTokenId?: string | null },
    ): Promise<void> => {
      const { accessTokenId = null, ...rest } = entry
      const whole = { ...rest, actor: { kind: 'user' as const, id: userId, accessTokenId } }
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

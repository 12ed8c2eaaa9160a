import { auditRecords } from '@waymark/contracts'
import { addToOutbox } from '@waymark/pipeline'
import type { Platform } from '@waymark/service-kit'
import { v7 as uuidv7 } from 'uuid'
import type { Client } from '../http/request-parts.ts'
import { insertAuditEntries, readProjectIds } from './audit-log-queries.ts'

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

/** The outbox lane of entries. */
const LANE = 'audit'
const MAX_FIELDS = 50
const MAX_LENGTH = 200

/**
 * Records who did what, after the change and before the answer, and publishes it. An entry that cannot be stored goes to
 * the log of the process and does not change the answer.
 */
export const createAuditLog = ({ db, clock, log }: Pick<Platform, 'db' | 'clock' | 'log'>) => {
  const write = (projectIds: readonly string[], entry: AuditEntry): Promise<void> => {
    const { actor, operation, resourceId = null, body, client } = entry
    const at = new Date(clock())
    const entries = projectIds.map((projectId) => ({ id: uuidv7(), projectId }))
    const what = {
      actor,
      operation,
      resourceId: resourceId?.slice(0, MAX_LENGTH) ?? null,
      fields: fieldsOf(body),
      network: client.network,
      requestId: client.requestId,
    }
    const { kind, id: actorId } = actor
    const published = { ...what, actor: { kind, id: actorId }, at: at.toISOString() }
    return db.transaction(async (connection) => {
      await insertAuditEntries(connection, entries, { ...what, at })
      await addToOutbox(
        connection,
        LANE,
        auditRecords,
        entries.map((one) => ({ key: one.projectId, value: { v: 1, ...one, ...published } })),
      )
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
        const projectIds = await readProjectIds(db.pool, userId)
        if (projectIds.length > 0) await write(projectIds, whole)
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

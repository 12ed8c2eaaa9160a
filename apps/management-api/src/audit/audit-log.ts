import { auditRecords } from '@waymark/contracts/topics'
import type { Prisma } from '@waymark/database'
import {
  AUDIT_LANE,
  type AuditActor,
  addToOutboxByPrisma,
  readProjectIds,
  SYSTEM,
  storeAuditEntries,
} from '@waymark/pipeline'
import type { Platform } from '@waymark/service-kit'
import { v7 as uuidv7 } from 'uuid'
import type { Client } from '../http/request-parts.ts'

/** An action to record. */
type AuditEntry = {
  actor: AuditActor
  /** An operation's id. */
  operation: string
  resourceId?: string | null
  /** The body of the request, of which only the names of its fields are stored. */
  body?: unknown
  /** Why they did it, where the request says so. */
  reason?: string | null
  /** Null when nobody of the project sent a request. */
  client: Client | null
}

const MAX_FIELDS = 50
const MAX_LENGTH = 200

/**
 * Records who did what, after the change and before the answer, and publishes it. An entry that cannot be stored goes to
 * the log of the process and does not change the answer.
 */
export const createAuditLog = ({ db, clock, log }: Pick<Platform, 'db' | 'clock' | 'log'>) => {
  const write = (projectIds: readonly string[], entry: AuditEntry): Promise<void> => {
    const { actor, operation, resourceId = null, body, reason = null, client } = entry
    const action = {
      actor,
      operation,
      resourceId: resourceId?.slice(0, MAX_LENGTH) ?? null,
      fields: fieldsOf(body),
      reason,
      network: client?.network ?? null,
      requestId: client?.requestId ?? null,
      at: new Date(clock()),
    }
    return db.transaction(async (connection, commit) => {
      await Promise.all([storeAuditEntries(connection, projectIds, action), commit()])
    })
  }
  const orLog = async (entry: AuditEntry, writing: Promise<void>): Promise<void> => {
    try {
      await writing
    } catch (error) {
      const { actor, operation, resourceId, client } = entry
      log.error(
        { err: error, actor, operation, resourceId, requestId: client?.requestId },
        'Audit entry could not be written',
      )
    }
  }

  return {
    /** Records an action in a project. Never rejects. */
    record: (projectId: string, entry: AuditEntry): Promise<void> => orLog(entry, write([projectId], entry)),

    /** Records what happened to a project without any of its users or keys. Never rejects. */
    recordOfSystem: (projectId: string, operation: string, resourceId: string): Promise<void> => {
      const entry = { actor: SYSTEM, operation, resourceId, client: null }
      return orLog(entry, write([projectId], entry))
    },

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

/** Records in the transaction of a change what happened to a project: by the system, unless there is an actor. */
export const auditInTransaction = async (
  tx: Prisma.TransactionClient,
  projectId: string,
  {
    operation,
    resourceId,
    at,
    actor = SYSTEM,
  }: { operation: string; resourceId: string | null; at: Date; actor?: Pick<AuditActor, 'kind' | 'id'> },
): Promise<void> => {
  const { kind, id: actorId } = actor
  const entry = { id: uuidv7(), projectId, operation, resourceId, fields: [] }
  await tx.auditEntry.create({ data: { ...entry, actorKind: kind, actorId, at } })
  const record = { ...entry, v: 1 as const, actor: { kind, id: actorId }, network: null, requestId: null }
  await addToOutboxByPrisma(tx, AUDIT_LANE, auditRecords, [
    { key: projectId, value: { ...record, at: at.toISOString() } },
  ])
}

export type AuditLog = ReturnType<typeof createAuditLog>

const fieldsOf = (body: unknown): string[] =>
  typeof body === 'object' && body !== null && !Array.isArray(body)
    ? Object.keys(body)
        .slice(0, MAX_FIELDS)
        .map((name) => name.slice(0, MAX_LENGTH))
    : []

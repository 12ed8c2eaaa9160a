import { AppError } from '@waymark/contracts/app-error'
import {
  cancelScheduledChange,
  type DecisionPatch,
  listScheduledChanges,
  MAX_PENDING_CHANGES,
  scheduleChange,
} from '@waymark/contracts/http/decisions'
import { pick } from '@waymark/contracts/http/pick'
import type { Prisma } from '@waymark/database'
import { drain, type Loop, type Platform, type Route } from '@waymark/service-kit'
import { v7 as uuidv7 } from 'uuid'
import { namesFor } from '../audit/actor-names.ts'
import { pageOf } from '../http/page.ts'
import type { Actor } from '../http/project-route.ts'
import { requireFound, requireFutureTime, requireId, unprocessable } from '../http/validation.ts'
import type { ManagementDeps } from '../management-deps.ts'
import type { Quotas } from '../quotas.ts'
import { changeDecisionIn, lockDecisions, patchOf, requireApplicable } from './decision-rows.ts'
import { REFUSALS, reasonOf } from './refusals.ts'
import { findDueChanges } from './scheduled-change-queries.ts'

type ScheduledChange = Prisma.ScheduledChangeGetPayload<object>

const INTERVAL_MS = 1_000
/** Most changes of one batch. */
const BATCH = 100
/** Changes of a decision that are kept after they were applied or cancelled, or have failed. */
const KEPT = 200

/** The changes of a decision that are made at a set time. */
export const scheduledChangeRoutes = ({ projectRoute, db, clock }: ManagementDeps): Route[] => {
  const findId = async (projectId: string, key: string): Promise<string> => {
    const where = { projectId_key: { projectId, key } }
    return requireFound(await db.prisma.decision.findUnique({ where, select: { id: true } })).id
  }
  return [
    projectRoute(scheduleChange, async ({ projectId, key, actor, body }) => {
      const at = requireFutureTime('at', body.at, clock())
      const created = await db.prisma.$transaction(async (tx) => {
        await lockDecisions(tx, projectId)
        const decisionId = await requireApplicable(tx, projectId, key, body.change)
        const pending = await tx.scheduledChange.count({ where: { decisionId, status: 'pending' } })
        if (pending >= MAX_PENDING_CHANGES)
          throw unprocessable(
            '',
            'max_items',
            `exceeds the ${MAX_PENDING_CHANGES} changes that may wait for their time; cancel one first`,
          )
        await forgetFinished(tx, decisionId)
        return tx.scheduledChange.create({
          data: {
            id: uuidv7(),
            projectId,
            decisionId,
            at,
            change: body.change as Prisma.InputJsonObject,
            scheduledByKind: actor.kind,
            scheduledById: actor.id,
          },
        })
      })
      return { status: 201, body: await viewFor(actor, created, db.prisma) }
    }),
    projectRoute(listScheduledChanges, async ({ projectId, key, query: { status, ...query }, actor }) => {
      const decisionId = await findId(projectId, key)
      const where = { decisionId, ...(status && { status }) }
      const { data, nextCursor } = await pageOf(
        query,
        (page) => db.prisma.scheduledChange.findMany(page(where)),
        (stored) => stored,
      )
      const names = await namesFor(
        actor,
        db.prisma,
        projectId,
        data.map(({ scheduledById }) => scheduledById),
      )
      return { body: { data: data.map((stored) => viewOf(stored, names)), nextCursor } }
    }),
    projectRoute(cancelScheduledChange, async ({ projectId, key, id, actor, requireMatch }) => {
      const where = { id: requireId(id), decisionId: await findId(projectId, key) }
      await db.prisma.$transaction(async (tx) => {
        await lockDecisions(tx, projectId)
        const found = requireFound(await tx.scheduledChange.findFirst({ where }))
        requireMatch(await viewFor(actor, found, tx))
        if (found.status !== 'pending')
          throw new AppError('conflict', `The change does not wait any more: it is ${found.status}`)
        await finish(tx, found.id, 'cancelled', clock())
      })
      return { status: 204 }
    }),
  ]
}

type ApplyDeps = Pick<Platform, 'db' | 'clock'> & { quotas: Quotas }

/** Applies due changes. Every process does: a lock on the decisions of a project makes one of them apply a change. */
export const applyScheduledChanges = (deps: ApplyDeps): Loop =>
  drain('scheduled-changes', INTERVAL_MS, () => applyDue(deps))

/**
 * Applies a batch of the changes that are due, those of a project in the order of their times. One that the decision refuses
 * has failed. After another error, it and the later ones of its decision wait for the next run.
 * @returns the number of changes in the batch
 * @throws the first other error, after the changes of other decisions
 */
export const applyDue = async (deps: ApplyDeps): Promise<number> => {
  const { prisma } = deps.db
  const ids = await findDueChanges(prisma, new Date(deps.clock()), BATCH)
  if (ids.length === 0) return 0
  const found = await prisma.scheduledChange.findMany({ where: { id: { in: ids } } })
  const due = found.sort((a, b) => ids.indexOf(a.id) - ids.indexOf(b.id))
  const errors = new Map<string, unknown>()
  for (const change of due) {
    if (errors.has(change.decisionId)) continue
    try {
      await applyOne(deps, change)
    } catch (error) {
      errors.set(change.decisionId, error)
    }
  }
  const [first] = errors.values()
  if (errors.size > 0) throw first
  return due.length
}

const applyOne = async ({ db, quotas, clock }: ApplyDeps, due: ScheduledChange): Promise<void> => {
  const { id, projectId, decisionId } = due
  const isPending = (tx: Prisma.TransactionClient) =>
    tx.scheduledChange.findFirst({ where: { id, status: 'pending' }, select: { id: true } })
  try {
    // The new version and the end of waiting are one transaction, so that a change is applied once.
    await db.prisma.$transaction(async (tx) => {
      await lockDecisions(tx, projectId)
      if (!(await isPending(tx))) return
      const { key } = await tx.decision.findUniqueOrThrow({ where: { id: decisionId } })
      const { version, ...patch } = due.change as DecisionPatch
      const actor = { kind: due.scheduledByKind, id: due.scheduledById }
      const { row } = await changeDecisionIn(tx, { projectId, key, actor, version }, quotas, (current) => ({
        ...patchOf(current, patch),
        change: 'scheduled',
      }))
      await finish(tx, id, 'applied', clock(), { version: row.version })
    })
  } catch (error) {
    if (!(error instanceof AppError && REFUSALS.has(error.code))) throw error
    await db.prisma.$transaction(async (tx) => {
      await lockDecisions(tx, projectId)
      if (await isPending(tx)) await finish(tx, id, 'failed', clock(), { error: reasonOf(error) })
    })
  }
}

const finish = async (
  tx: Prisma.TransactionClient,
  id: string,
  status: 'applied' | 'failed' | 'cancelled',
  now: number,
  result: { version?: number; error?: string } = {},
): Promise<void> => {
  await tx.scheduledChange.update({ where: { id }, data: { status, finishedAt: new Date(now), ...result } })
}

const forgetFinished = async (tx: Prisma.TransactionClient, decisionId: string): Promise<void> => {
  const finished = { decisionId, status: { not: 'pending' } }
  const [newestToForget] = await tx.scheduledChange.findMany({
    where: finished,
    orderBy: { id: 'desc' },
    skip: KEPT,
    take: 1,
    select: { id: true },
  })
  if (newestToForget)
    await tx.scheduledChange.deleteMany({ where: { ...finished, id: { lte: newestToForget.id } } })
}

const viewFor = async (caller: Actor, stored: ScheduledChange, prisma: Parameters<typeof namesFor>[1]) =>
  viewOf(stored, await namesFor(caller, prisma, stored.projectId, [stored.scheduledById]))

const viewOf = (stored: ScheduledChange, names: ReadonlyMap<string, string>) => {
  const { scheduledByKind: kind, scheduledById: id } = stored
  const scheduledBy = { kind, id, name: names.get(id) ?? null }
  return pick({ ...stored, scheduledBy }, scheduleChange.answers[201].schema)
}

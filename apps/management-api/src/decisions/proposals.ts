import { AppError } from '@waymark/contracts/app-error'
import type { Decision, DecisionDefinition } from '@waymark/contracts/decision-definition'
import {
  approveProposal,
  bypassProposal,
  createProposal,
  getProposal,
  listProposals,
  MAX_OPEN_PROPOSALS,
  rejectProposal,
  updateProposal,
  withdrawProposal,
} from '@waymark/contracts/http/proposals'
import type { Prisma } from '@waymark/database'
import { type DecisionContent, reshufflesOf } from '@waymark/domain/decision'
import { createPatch } from '@waymark/domain/json'
import { LoopTurns, type Route } from '@waymark/service-kit'
import { v7 as uuidv7 } from 'uuid'
import { namesFor } from '../audit/actor-names.ts'
import { pageOf } from '../http/page.ts'
import type { Actor } from '../http/project-route.ts'
import { requireFound, requireFutureTime, requireId, unprocessable } from '../http/validation.ts'
import type { ManagementDeps } from '../management-deps.ts'
import { applyProposal } from './apply-proposals.ts'
import { findChangeable, lockDecisions } from './decision-rows.ts'
import { contentsOf } from './decisions.ts'
import { askApprovers, tellAuthor, tellOwners } from './proposal-notices.ts'
import { findActiveVersion } from './proposal-queries.ts'
import {
  applyIn,
  contentIn,
  contentOf,
  findOpen,
  finish,
  isOutdated,
  type ProposalRow,
  personOf,
  publish,
  type Standing,
  standingOf,
  WITH_REVIEWS,
  wantedIn,
} from './proposal-rows.ts'

type Transaction = Prisma.TransactionClient

/** Finished proposals of a decision that are kept. */
const KEPT = 200

/** Proposed changes of decisions and their approvals. */
export const proposalRoutes = (deps: ManagementDeps): Route[] => {
  const { projectRoute, db, quotas, clock } = deps

  const find = async (projectId: string, key: string, id: string): Promise<ProposalRow> => {
    const where = { id: requireId(id), projectId, decision: { key } }
    return requireFound(await db.prisma.decisionProposal.findFirst({ where, include: WITH_REVIEWS }))
  }
  const replyOf = async (caller: Actor, row: ProposalRow) => ({
    body: await viewWithChanges(db.prisma, caller, row),
    version: versionOf(row),
  })
  /** Runs a change of an open proposal with the decisions of the project locked. */
  const inOpen = <T>(
    { projectId, key, id }: { projectId: string; key: string; id: string },
    work: (tx: Transaction, proposal: ProposalRow) => Promise<T>,
  ): Promise<T> =>
    db.prisma.$transaction(async (tx) => {
      await lockDecisions(tx, projectId)
      return work(tx, await findOpen(tx, projectId, key, id))
    })

  return [
    projectRoute(createProposal, async ({ projectId, key, actor, body }) => {
      const wanted = wantedIn(body)
      if (!wanted) throw unprocessable('', 'one_of', 'must have one of change, restore and resume')
      const at = timeOf(body.at, clock())
      const row = await db.prisma.$transaction(async (tx) => {
        await lockDecisions(tx, projectId)
        const current = await findChangeable(tx, { projectId, key, version: wanted.change?.version })
        await requireRoom(tx, current.id)
        const content = await contentOf(tx, current, wanted, clock())
        const person = await personOf(tx, actor)
        const { id } = await tx.decisionProposal.create({
          data: {
            id: uuidv7(),
            projectId,
            decisionId: current.id,
            ...columnsOf(wanted, content, current),
            at,
            dueAt: at,
            comment: body.comment ?? null,
            proposedByKind: actor.kind,
            proposedById: actor.id,
            authors: person === null ? [] : [person],
            anonymous: person === null,
          },
        })
        const made = await findOpen(tx, projectId, key, id)
        await askApprovers(tx, made, actor)
        await publish(tx, made, 'proposed', actor, clock())
        return made
      })
      return { status: 201, ...(await replyOf(actor, row)) }
    }),
    projectRoute(listProposals, async ({ projectId, query: { status, decision, ...query }, actor }) => {
      const where = {
        projectId,
        ...(status && { status }),
        ...(decision !== undefined && { decision: { key: decision } }),
      }
      const { data, nextCursor } = await pageOf(
        query,
        (page) => db.prisma.decisionProposal.findMany({ ...page(where), include: WITH_REVIEWS }),
        (row) => row,
      )
      const names = await namesIn(db.prisma, actor, projectId, data)
      const views = []
      for (const row of data) views.push(viewOf(row, await standingFor(db.prisma, row), names))
      return { body: { data: views, nextCursor } }
    }),
    projectRoute(getProposal, async ({ projectId, key, id, actor }) =>
      replyOf(actor, await find(projectId, key, id)),
    ),
    projectRoute(updateProposal, async ({ projectId, key, id, actor, body, requireMatch }) => {
      const row = await inOpen({ projectId, key, id }, async (tx, proposal) => {
        requireMatch(versionOf(proposal))
        const wanted = wantedIn(body) ?? (proposal.request as ReturnType<typeof wantedIn>) ?? {}
        const current = await findChangeable(tx, { projectId, key, version: body.change?.version })
        const content = await contentOf(tx, current, wanted, clock())
        const at = body.at === undefined ? proposal.at : timeOf(body.at, clock())
        const person = await personOf(tx, actor)
        await tx.decisionProposal.update({
          where: { id: proposal.id },
          data: {
            ...columnsOf(wanted, content, current),
            revision: { increment: 1 },
            at,
            dueAt: at,
            ...(body.comment !== undefined && { comment: body.comment }),
            authors: [...new Set([...proposal.authors, ...(person === null ? [] : [person])])],
            anonymous: proposal.anonymous || person === null,
            updatedAt: new Date(clock()),
          },
        })
        const edited = await findOpen(tx, projectId, key, id)
        await askApprovers(tx, edited, actor)
        await publish(tx, edited, 'proposal_edited', actor, clock())
        return edited
      })
      return replyOf(actor, row)
    }),
    projectRoute(withdrawProposal, async ({ projectId, key, id, actor, requireMatch }) => {
      await inOpen({ projectId, key, id }, async (tx, proposal) => {
        requireMatch(versionOf(proposal))
        await finish(tx, proposal.id, 'withdrawn', clock())
        await publish(tx, proposal, 'proposal_withdrawn', actor, clock())
      })
      return { status: 204 }
    }),
    projectRoute(approveProposal, async ({ projectId, key, id, actor, body }) => {
      await inOpen({ projectId, key, id }, async (tx, proposal) => {
        requireCurrent(proposal, body.revision)
        requireReviewer(proposal, await standingOf(tx, proposal), actor)
        const isNew = await addReview(tx, proposal, actor, 'approved', body.comment ?? null)
        const { approved } = await standingOf(tx, await findOpen(tx, projectId, key, id))
        // Applied below, or by another process if this one ends before.
        if (approved && proposal.at === null)
          await tx.decisionProposal.update({
            where: { id: proposal.id },
            data: { dueAt: new Date(clock()) },
          })
        if (isNew) await publish(tx, proposal, 'proposal_approved', actor, clock(), body.comment)
      })
      await applyProposal(deps, id)
      return replyOf(actor, await find(projectId, key, id))
    }),
    projectRoute(rejectProposal, async ({ projectId, key, id, actor, body: { revision, comment } }) => {
      await inOpen({ projectId, key, id }, async (tx, proposal) => {
        requireCurrent(proposal, revision)
        requireReviewer(proposal, await standingOf(tx, proposal), actor)
        await addReview(tx, proposal, actor, 'rejected', comment)
        await finish(tx, proposal.id, 'rejected', clock())
        await tellAuthor(tx, proposal, 'rejected', actor, comment)
        await publish(tx, proposal, 'proposal_rejected', actor, clock(), comment)
      })
      return replyOf(actor, await find(projectId, key, id))
    }),
    projectRoute(bypassProposal, async ({ projectId, key, id, actor, body: { revision, reason } }) => {
      await inOpen({ projectId, key, id }, async (tx, proposal) => {
        requireCurrent(proposal, revision)
        await addReview(tx, proposal, actor, 'bypassed', reason)
        const evidence = { bypassedBy: actor.id }
        await applyIn(tx, proposal, quotas, clock(), { change: 'bypassed', reason, evidence })
        await tellOwners(tx, proposal, actor, reason)
      })
      return { ...(await replyOf(actor, await find(projectId, key, id))), reason }
    }),
  ]
}

/** What is stored of the change that a proposal makes of a decision as it is now. */
const columnsOf = (wanted: object, { status, definition }: DecisionContent, current: Decision) => ({
  baseVersion: current.version,
  request: wanted as Prisma.InputJsonObject,
  decisionStatus: status,
  definition: definition as Prisma.InputJsonObject,
})

const timeOf = (text: string | null | undefined, now: number): Date | null =>
  text === null || text === undefined ? null : requireFutureTime('at', text, now)

/** @throws AppError unprocessable when as many proposals of a decision are open as may be */
const requireRoom = async (tx: Transaction, decisionId: string): Promise<void> => {
  const open = await tx.decisionProposal.count({ where: { decisionId, status: 'open' } })
  if (open >= MAX_OPEN_PROPOSALS)
    throw unprocessable(
      '',
      'max_items',
      `exceeds the ${MAX_OPEN_PROPOSALS} proposals of a decision that may be open; withdraw one first`,
    )
  const finished = { decisionId, status: { not: 'open' } }
  const [newestToForget] = await tx.decisionProposal.findMany({
    where: finished,
    orderBy: { id: 'desc' },
    skip: KEPT,
    take: 1,
    select: { id: true },
  })
  if (newestToForget)
    await tx.decisionProposal.deleteMany({ where: { ...finished, id: { lte: newestToForget.id } } })
}

/** Has reviewers decide about what they have read. @throws AppError precondition_failed, conflict */
const requireCurrent = (proposal: ProposalRow, revision: number): void => {
  if (revision !== proposal.revision)
    throw new AppError(
      'precondition_failed',
      `The proposal was edited: its revision is ${proposal.revision}, not ${revision}`,
    )
  if (isOutdated(proposal))
    throw new AppError(
      'conflict',
      `The decision has the version ${proposal.decision.version}, and the proposal was made from ${proposal.baseVersion}: ` +
        'make it anew (PATCH with {})',
    )
}

/** @throws AppError forbidden for an author, and for a role that may not approve */
const requireReviewer = ({ authors }: ProposalRow, { needed }: Standing, actor: Actor): void => {
  if (actor.kind !== 'user') throw new AppError('forbidden', 'Only a member who is signed in may do this')
  if (authors.includes(actor.id))
    throw new AppError('forbidden', 'Others than those who created or edited a proposal review it')
  const roles = [...new Set(needed.flatMap((one) => one.roles))]
  if (!roles.includes(actor.role as (typeof roles)[number]))
    throw new AppError(
      'forbidden',
      `Your role does not review this proposal: members with one of these do: ${roles.join(', ')}`,
    )
}

/** Adds a review, or replaces that of the same member of the same revision. Resolves to whether it is a new one. */
const addReview = async (
  tx: Transaction,
  { id: proposalId, revision }: ProposalRow,
  { id: reviewerId }: Actor,
  verdict: 'approved' | 'rejected' | 'bypassed',
  comment: string | null,
): Promise<boolean> => {
  const key = { proposalId, revision, reviewerId }
  const known = await tx.proposalReview.findUnique({ where: { proposalId_revision_reviewerId: key } })
  if (known) await tx.proposalReview.update({ where: { id: known.id }, data: { verdict, comment } })
  else await tx.proposalReview.create({ data: { id: uuidv7(), ...key, verdict, comment } })
  return !known
}

type Tables = Parameters<typeof namesFor>[1] &
  Parameters<typeof standingOf>[0] &
  Pick<Transaction, '$queryRaw'>

/** Of a finished proposal, the approvals of its last revision are those that counted. */
const standingFor = async (tables: Tables, row: ProposalRow): Promise<Standing> =>
  row.status === 'open'
    ? standingOf(tables, row)
    : {
        needed: [],
        approved: row.status === 'applied',
        counting: new Set(
          row.reviews
            .filter(({ verdict, revision }) => verdict === 'approved' && revision === row.revision)
            .map(({ id }) => id),
        ),
      }

const namesIn = (tables: Tables, caller: Actor, projectId: string, rows: readonly ProposalRow[]) =>
  namesFor(
    caller,
    tables,
    projectId,
    rows.flatMap(({ proposedById, reviews }) => [
      proposedById,
      ...reviews.map(({ reviewerId }) => reviewerId),
    ]),
  )

const viewOf = (row: ProposalRow, standing: Standing, names: ReadonlyMap<string, string>) => ({
  id: row.id,
  decision: row.decision.key,
  status: row.status as 'open',
  revision: row.revision,
  baseVersion: row.baseVersion,
  outdated: isOutdated(row),
  request: row.request as Record<string, unknown>,
  decisionStatus: contentIn(row).status,
  definition: row.definition as Record<string, unknown>,
  at: row.at,
  comment: row.comment,
  approvals: standing.needed.map(({ environments, required, roles, given }) => ({
    environments,
    required,
    roles: [...roles],
    given,
  })),
  approved: standing.approved,
  reviews: row.reviews.map(({ id, verdict, comment, reviewerId, createdAt, revision }) => ({
    verdict: verdict as 'approved',
    comment,
    by: { kind: 'user', id: reviewerId, name: names.get(reviewerId) ?? null },
    at: createdAt,
    revision,
    counts: standing.counting.has(id),
  })),
  version: row.version,
  error: row.error,
  proposedBy: { kind: row.proposedByKind, id: row.proposedById, name: names.get(row.proposedById) ?? null },
  createdAt: row.createdAt,
  updatedAt: row.updatedAt,
  finishedAt: row.finishedAt,
})

/** A proposal, compared with what was last active: so a change that was made while it was off is not overlooked. */
const viewWithChanges = async (tables: Tables, caller: Actor, row: ProposalRow) => {
  const names = await namesIn(tables, caller, row.projectId, [row])
  const before = await findActiveVersion(tables, row.decisionId, row.baseVersion)
  const after = contentsOf({ status: row.decisionStatus, definition: row.definition })
  const { definition } = contentIn(row)
  return {
    ...viewOf(row, await standingFor(tables, row), names),
    comparedWith: before?.version ?? null,
    changes: await createPatch(before ? contentsOf(before) : {}, after, new LoopTurns()),
    warnings: before ? reshufflesOf(before.definition as DecisionDefinition, definition) : [],
  }
}

/** What the `ETag` is made of: it changes with each edit, review and end, and with a newer version of the decision. */
const versionOf = (row: ProposalRow) => ({
  id: row.id,
  status: row.status,
  revision: row.revision,
  outdated: isOutdated(row),
  reviews: row.reviews.map(({ id, verdict, comment }) => ({ id, verdict, comment })),
})

import { AppError } from '@waymark/contracts/app-error'
import { PRODUCTION } from '@waymark/contracts/environment'
import { backtestSegment, type SegmentBacktest } from '@waymark/contracts/http/backtests'
import { pick } from '@waymark/contracts/http/pick'
import {
  createSegment,
  deleteSegment,
  getSegment,
  listSegments,
  previewSegment,
  SEGMENT_SAMPLE,
  type SegmentCondition,
  SegmentView,
  updateSegment,
} from '@waymark/contracts/http/segments'
import type { Prisma } from '@waymark/database'
import {
  compileSegment,
  type DecisionContent,
  eventsCountedBy,
  isInactiveDraft,
  segmentProblems,
} from '@waymark/domain/decision'
import type { Route } from '@waymark/service-kit'
import { v7 as uuidv7 } from 'uuid'
import { ALWAYS_UNKNOWN, DAY_MS } from '../backtests/people.ts'
import { poolsWithSegment } from '../coupons/pool-segments.ts'
import { neededApprovals } from '../decisions/approvals.ts'
import { lockDecisions, toDecision } from '../decisions/decision-rows.ts'
import { contentIn, WITH_REVIEWS } from '../decisions/proposal-rows.ts'
import { pageOf } from '../http/page.ts'
import { invalid, requireFound, unprocessable } from '../http/validation.ts'
import { programmesWithSegment } from '../loyalty/programme-rows.ts'
import type { ManagementDeps } from '../management-deps.ts'
import { readProfiles } from '../profiles/profile-queries.ts'
import { requireConfigurationFits, requireWithinQuota } from '../quotas.ts'
import { countEventsOfSegments, type SegmentRow, segmentsOf } from './segment-rows.ts'

/** A project's segments. */
export const segmentRoutes = ({ projectRoute, db, quotas, runQuery, clock }: ManagementDeps): Route[] => [
  projectRoute(createSegment, async ({ projectId, body: { key, name, condition } }) => {
    requireUsable(condition)
    return db.prisma.$transaction(async (tx) => {
      await lockDecisions(tx, projectId)
      if (await find(tx, projectId, key))
        throw unprocessable('key', 'unique', 'must not be the key of another segment', key)
      requireWithinQuota(quotas, 'segments', (await tx.segment.count({ where: { projectId } })) + 1)
      const row = await tx.segment.create({
        data: { id: uuidv7(), projectId, key, name, condition: condition as Prisma.InputJsonObject },
      })
      await applyChange(tx, projectId)
      await requireConfigurationFits(tx, projectId, quotas)
      return { status: 201, ...replyOf(row, await pendingEvents(tx, projectId)) }
    })
  }),
  projectRoute(listSegments, async ({ projectId, query }) => {
    const pending = await pendingEvents(db.prisma, projectId)
    return {
      body: await pageOf(
        query,
        (page) => db.prisma.segment.findMany(page({ projectId })),
        (row) => viewOf(row, pending),
      ),
    }
  }),
  projectRoute(getSegment, async ({ projectId, key }) =>
    replyOf(requireFound(await find(db.prisma, projectId, key)), await pendingEvents(db.prisma, projectId)),
  ),
  projectRoute(updateSegment, async ({ projectId, key, body: { name, condition }, requireMatch }) => {
    if (condition !== undefined) requireUsable(condition)
    return db.prisma.$transaction(async (tx) => {
      await lockDecisions(tx, projectId)
      const found = requireFound(await find(tx, projectId, key))
      requireMatch(versionOf(found))
      if (condition !== undefined) await requireNoApprovals(tx, projectId, key)
      const row = await tx.segment.update({
        where: { id: found.id },
        data: {
          ...(name !== undefined && { name }),
          ...(condition !== undefined && { condition: condition as Prisma.InputJsonObject }),
          updatedAt: new Date(clock()),
        },
      })
      if (condition !== undefined) {
        await applyChange(tx, projectId)
        await requireConfigurationFits(tx, projectId, quotas)
      }
      return replyOf(row, await pendingEvents(tx, projectId))
    })
  }),
  projectRoute(deleteSegment, async ({ projectId, key, requireMatch }) => {
    await db.prisma.$transaction(async (tx) => {
      await lockDecisions(tx, projectId)
      const found = requireFound(await find(tx, projectId, key))
      requireMatch(versionOf(found))
      const decisions = await decisionsWith(tx, projectId, key)
      const couponPools = await poolsWithSegment(tx, projectId, key)
      const loyaltyProgrammes = await programmesWithSegment(tx, projectId, key)
      const referring = [...decisions, ...couponPools, ...loyaltyProgrammes]
      if (referring.length > 0)
        throw new AppError(
          'conflict',
          `Rules refer to the segment: ${referring.join(', ')}. Change or archive them first`,
          { decisions, couponPools, loyaltyProgrammes },
        )
      await tx.segment.delete({ where: { id: found.id } })
      await applyChange(tx, projectId)
    })
    return { status: 204 }
  }),
  projectRoute(backtestSegment, async ({ projectId, key, request, body }) => {
    const stored = requireFound(await find(db.prisma, projectId, key))
    const { condition = stored.condition as SegmentCondition } = body
    requireUsable(condition)
    const segment = compileSegment({ condition })
    const now = clock()
    const today = Math.floor(now / DAY_MS)
    const ends = Array.from({ length: body.days }, (_, n) =>
      Math.min(now, (today - n + 1) * DAY_MS - 1),
    ).reverse()
    const days = await runQuery({ projectId, request, from: ends[0], to: now }, async (queryStore) => {
      const counted: SegmentBacktest['days'] = []
      for (const end of ends) {
        const query = { projectId, segment, now: end, to: end + 1, sample: 0 }
        const rows = await queryStore((store) => store.measureSegment(query))
        const people = rows.find(({ profileId }) => profileId === null)?.people ?? 0
        counted.push({ day: new Date(end).toISOString().slice(0, 10), people })
      }
      return counted
    })
    const readsTraits = segment.filters.length > 0
    return { body: { key, days, unknown: [...(readsTraits ? [TRAITS_NOW] : []), ALWAYS_UNKNOWN] } }
  }),
  projectRoute(previewSegment, async ({ projectId, request, body: { condition } }) => {
    requireUsable(condition)
    const query = { projectId, segment: compileSegment({ condition }), now: clock(), sample: SEGMENT_SAMPLE }
    const rows = await runQuery({ projectId, request }, (queryStore) =>
      queryStore((store) => store.measureSegment(query)),
    )
    const ids = rows.flatMap(({ profileId }) => profileId ?? [])
    const profiles = await readProfiles(db.pool, projectId, ids)
    return {
      body: {
        people: rows.find(({ profileId }) => profileId === null)?.people ?? 0,
        sample: profiles.sort((a, b) => ids.indexOf(a.id) - ids.indexOf(b.id)),
      },
    }
  }),
]

const TRAITS_NOW = {
  code: 'traits',
  message: 'Traits are as of now. What they were before is not kept.',
}

const requireUsable = (condition: SegmentCondition): void => {
  const problems = segmentProblems(condition, 'condition')
  if (problems.length > 0) throw invalid(problems)
}

type Tables = Pick<Prisma.TransactionClient, 'segment' | 'countedEvent' | 'decision' | 'decisionProposal'>

const find = ({ segment }: Tables, projectId: string, key: string): Promise<SegmentRow | null> =>
  segment.findUnique({ where: { projectId_key: { projectId, key } } })

/** The events of a project whose earlier events are being counted. */
const pendingEvents = async ({ countedEvent }: Tables, projectId: string): Promise<ReadonlySet<string>> => {
  const rows = await countedEvent.findMany({ where: { projectId, completedAt: null } })
  return new Set(rows.map(({ event }) => event))
}

/** The keys of the decisions whose rules refer to a segment, without archived ones. */
/** What refers to a segment: decisions, and open proposals of some. */
type Referring = DecisionContent & { key: string }

const referringTo = async (
  { decision, decisionProposal }: Tables,
  projectId: string,
  segmentKey: string,
): Promise<Referring[]> => {
  const rows = await decision.findMany({ where: { projectId, status: { not: 'archived' } } })
  const proposals = await decisionProposal.findMany({
    where: { projectId, status: 'open' },
    include: WITH_REVIEWS,
  })
  const all = [
    ...rows.map(toDecision),
    // Approvals are of the segment as it was when they were given.
    ...proposals.map((proposal) => ({ ...contentIn(proposal), key: proposal.decision.key })),
  ]
  return all.filter(({ definition }) => segmentsOf(definition).some(({ key }) => key === segmentKey))
}

const decisionsWith = async (tables: Tables, projectId: string, segmentKey: string): Promise<string[]> => {
  const referring = await referringTo(tables, projectId, segmentKey)
  return [...new Set(referring.map(({ key }) => key))].sort()
}

/**
 * Refuses another condition of a segment by which decisions give people something, where that would need approvals.
 * @throws AppError forbidden
 */
const requireNoApprovals = async (
  tx: Prisma.TransactionClient,
  projectId: string,
  segmentKey: string,
): Promise<void> => {
  for (const { key, definition, ...content } of await referringTo(tx, projectId, segmentKey)) {
    if (isInactiveDraft({ ...content, definition })) continue
    const { rules, environments = {} } = definition
    const named = [[PRODUCTION, { rules }] as const, ...Object.entries(environments)]
      .filter(([, own]) => segmentsOf({ rules: own.rules }).some((found) => found.key === segmentKey))
      .map(([name]) => name)
    const needed = await neededApprovals(tx, projectId, named)
    if (needed.length > 0)
      throw new AppError(
        'forbidden',
        `Changes of the decision ${key}, which refers to the segment, need approvals: create another segment and propose ` +
          `to use it (POST decisions/${key}/proposals)`,
        { code: 'approval_required' },
      )
  }
}

const applyChange = async (tx: Prisma.TransactionClient, projectId: string): Promise<void> => {
  await countEventsOfSegments(tx, projectId)
  await tx.configChange.create({ data: { projectId } })
}

/** What the `ETag` is made of: counting earlier events is not a change. */
const versionOf = (row: SegmentRow) => pick(row, SegmentView)

const viewOf = (row: SegmentRow, pending: ReadonlySet<string>) => {
  const countsComplete = eventsCountedBy(row.condition as SegmentCondition).every(
    (event) => !pending.has(event),
  )
  return { ...pick(row, SegmentView), countsComplete }
}

const replyOf = (row: SegmentRow, pending: ReadonlySet<string>) => ({
  body: viewOf(row, pending),
  version: versionOf(row),
})

import { AppError } from '@waymark/contracts/app-error'
import type { Decision } from '@waymark/contracts/decision-definition'
import { PRODUCTION } from '@waymark/contracts/environment'
import { type DecisionPreview, previewDecision } from '@waymark/contracts/http/decisions'
import {
  type Choice,
  compileDecision,
  compileSegment,
  countsOf,
  createDecider,
  createDecisionSet,
  createSegmentSet,
  inEnvironment,
  isDeciding,
  missingIn,
  type RuleOutcome,
  subjectOf,
  targetingKeyOf,
} from '@waymark/domain/decision'
import { findPeople, type WantedPerson } from '@waymark/pipeline'
import { LoopTurns, type Route } from '@waymark/service-kit'
import { requireEnvironment } from '../environments/environments.ts'
import { requireFound, unprocessable } from '../http/validation.ts'
import type { ManagementDeps } from '../management-deps.ts'
import { readSegmentsOf } from '../segments/segment-rows.ts'
import { toDecision } from './decision-rows.ts'

/** Explains what the stored version of a decision gives a person; drafts included. */
export const decisionPreviewRoute = ({ projectRoute, db, clock }: ManagementDeps): Route =>
  projectRoute(previewDecision, async ({ projectId, key, body }) => {
    const { environment = PRODUCTION } = body
    await requireEnvironment(db.prisma, projectId, environment)
    const row = requireFound(
      await db.prisma.decision.findUnique({ where: { projectId_key: { projectId, key } } }),
    )
    const found = await readWithPrerequisites(db, toDecision(row), environment)
    const segments = createSegmentSet(await readSegmentsOf(db.prisma, projectId, found), compileSegment)
    const decisions = createDecisionSet(found, compileDecision, segments).in(environment)
    const turns = new LoopTurns()
    for (const needed of decisions.withPrerequisites([key])) {
      if (turns.isOver()) await turns.next()
      // Compiles the rules, which takes milliseconds for large ones.
      decisions.get(needed)
    }
    const compiled = requireFound(decisions.get(key))
    const { visitorId = null, userId = null, context = {} } = body
    if (visitorId === null && userId === null)
      throw unprocessable('visitorId', 'required', 'or userId is required')

    const refs = [...decisions.counts, ...compiled.counts]
    // All segments that were read, because the decision may be a draft.
    const countedEvents = new Set([...refs.map(({ event }) => event), ...segments.events])
    const wanted = [
      ...(visitorId === null
        ? []
        : [{ projectId, kind: 'visitor', value: visitorId, countedEvents } as const]),
      ...(userId === null ? [] : [{ projectId, kind: 'user', value: userId, countedEvents } as const]),
    ] satisfies WantedPerson[]
    const people = await findPeople(db.pool, wanted)
    const knownAs = (kind: 'visitor' | 'user') => people[wanted.findIndex((one) => one.kind === kind)]
    const ids = { projectId, visitorId, userId }
    const decided = subjectOf(ids, knownAs('visitor'), knownAs('user'))
    if (!decided) throw new AppError('internal', 'Internal error')
    const person = people.find((one) => one && one.profileId === decided.profileId)

    const now = clock()
    const days = person?.counts ?? []
    const data = {
      traits: body.traits ?? person?.traits ?? {},
      context,
      counts: countsOf(refs, days, now),
    }
    const { subject, profileId } = decided
    const targetingKey = targetingKeyOf(ids)
    const decider = createDecider(decisions, { projectId, subject, targetingKey, data, days, now })
    const { holdout, exclusionGroup, segments: memberships, rules } = decider.explain(compiled)
    const { status, version, definition } = compiled.decision
    const preview: DecisionPreview = {
      key,
      version,
      subject: definition.bucketing === undefined ? subject : targetingKey,
      profileId,
      answer: choiceOf(decider.decide(compiled)),
      ifActive: choiceOf(decider.decideAsIfActive(compiled)),
      status,
      scheduled: isDeciding({ ...compiled, decision: { ...compiled.decision, status: 'active' } }, now),
      holdout,
      exclusionGroup: exclusionGroup && { ...definition.exclusionGroup, ...exclusionGroup },
      rules: rules.map((outcome, index) => ({
        ...outcome,
        why: whyOf(outcome) + missingOf(missingIn(definition.rules[index]?.condition, data)),
      })),
      traits: data.traits,
      segments: memberships,
      counts: data.counts,
    }
    return { body: preview }
  })

/**
 * Reads the prerequisites of a decision, which are added to it. Others are left alone: all decisions of a project, with
 * archived ones, may be very large, and reading them would delay other requests.
 */
export const readWithPrerequisites = async (
  { prisma }: ManagementDeps['db'],
  decision: Decision,
  environment: string,
): Promise<Decision[]> => {
  const { projectId } = decision
  const found = new Map([[decision.key, decision]])
  for (let read = [decision]; read.length > 0; ) {
    const needed = read.flatMap((one) =>
      inEnvironment(one, environment).definition.rules.flatMap(({ prerequisites }) =>
        prerequisites.map((prerequisite) => prerequisite.decision),
      ),
    )
    const keys = [...new Set(needed)].filter((key) => !found.has(key))
    const rows = await prisma.decision.findMany({ where: { projectId, key: { in: keys } } })
    read = rows.map(toDecision)
    for (const one of read) found.set(one.key, one)
  }
  return [...found.values()]
}

const choiceOf = ({ variant, value, reason, ruleId }: Choice) => ({ variant, value, reason, ruleId })

/** Says that values are missing, because comparisons take them for 0. */
const missingOf = (paths: readonly string[]): string =>
  paths.length === 0
    ? ''
    : ` The condition reads ${paths.join(', ')}, which ${paths.length === 1 ? 'is' : 'are'} missing: <, <=, > and >= take a missing value for 0.`

const whyOf = ({ condition, prerequisites, rollout, variant }: RuleOutcome): string => {
  if (!condition) return 'The condition does not hold.'
  const unmet = prerequisites.find(({ met }) => !met)
  if (unmet) return `The prerequisite ${unmet.decision} is not met.`
  if (variant === null) return `Bucket ${rollout.bucket} is not below ${rollout.below}: not in the rollout.`
  return `Applies, and gives ${variant} unless an earlier rule does.`
}

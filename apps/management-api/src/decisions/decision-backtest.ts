import type { Decision } from '@waymark/contracts/decision-definition'
import { PRODUCTION } from '@waymark/contracts/environment'
import {
  BACKTEST_SAMPLE,
  backtestDecision,
  type DecisionBacktest,
  type DecisionBacktestRequest,
  MAX_BACKTEST_EVENTS,
  MAX_BACKTEST_PEOPLE,
} from '@waymark/contracts/http/backtests'
import {
  type Backtest,
  type CompiledDecision,
  type CountRef,
  compileDecision,
  compileSegment,
  contextIn,
  createBacktestTally,
  createDecisionSet,
  createSegmentSet,
  type DecisionSet,
  firstDayOf,
  type Replayed,
  replayDecision,
  rulesBefore,
  type SegmentSet,
  traitsIn,
} from '@waymark/domain/decision'
import type { MomentsQuery } from '@waymark/event-store'
import { LoopTurns, type Route } from '@waymark/service-kit'
import type { QueryStore } from '../analytics/run-queries.ts'
import { timeText } from '../analytics/time-range.ts'
import {
  ALWAYS_UNKNOWN,
  DAY_MS,
  hasNewerTraits,
  MAX_STEPS,
  newerTraits,
  peopleOf,
  type UnknownNote,
} from '../backtests/people.ts'
import { requireEnvironment } from '../environments/environments.ts'
import { requireFound } from '../http/validation.ts'
import type { ManagementDeps } from '../management-deps.ts'
import { readSegmentsOf } from '../segments/segment-rows.ts'
import { readWithPrerequisites } from './decision-preview.ts'
import { contentAfter, patchOf, toDecision } from './decision-rows.ts'

/** Replays a decision, or a change of it, on the stored events of people. It stores nothing. */
export const decisionBacktestRoute = ({ projectRoute, db, runQuery, clock }: ManagementDeps): Route =>
  projectRoute(backtestDecision, async ({ projectId, key, body, request }) => {
    const { environment = PRODUCTION } = body
    await requireEnvironment(db.prisma, projectId, environment)
    const decision = await draftOf(db, projectId, key, body.definition)
    const found = await readWithPrerequisites(db, decision, environment)
    const segments = createSegmentSet(await readSegmentsOf(db.prisma, projectId, found), compileSegment)
    const decisions = createDecisionSet(found, compileDecision, segments).in(environment)
    const turns = new LoopTurns()
    const needed: CompiledDecision[] = []
    for (const other of decisions.withPrerequisites([key])) {
      if (turns.isOver()) await turns.next()
      // Compiles the rules, which takes milliseconds for large ones.
      const compiled = decisions.get(other)
      if (compiled) needed.push(compiled)
    }
    const compiled = requireFound(decisions.get(key))
    const scope = { compiled, needed, decisions, segments }
    const query = queryOf(projectId, body, scope, clock())
    const { from, to } = query
    const replayed = await runQuery({ projectId, request, from, to }, (queryStore, stop) =>
      replay({ pool: db.pool, queryStore, stop, turns }, query, scope, body),
    )
    return {
      body: {
        key,
        from: timeText(from),
        to: timeText(to),
        ...replayed,
        unknown: [...replayed.unknown, ...unknownOf(scope, body, from, to)],
      } satisfies DecisionBacktest,
    }
  })

/** A decision with its prerequisites and segments. */
type Scope = {
  compiled: CompiledDecision
  needed: readonly CompiledDecision[]
  decisions: DecisionSet
  segments: SegmentSet
}

/** The stored decision, or what it would be after a patch. @throws AppError not_found, unprocessable */
const draftOf = async (
  { prisma }: ManagementDeps['db'],
  projectId: string,
  key: string,
  patch: DecisionBacktestRequest['definition'],
): Promise<Decision> => {
  const row = requireFound(await prisma.decision.findUnique({ where: { projectId_key: { projectId, key } } }))
  const stored = toDecision(row)
  if (!patch) return stored
  return prisma.$transaction(async (tx) => {
    const content = await contentAfter(tx, stored, patchOf(stored, patch))
    // What guards have stopped is of the stored rules.
    return { ...stored, ...content, states: null }
  })
}

const countsOfScope = ({ decisions, compiled }: Scope): CountRef[] => [
  ...decisions.counts,
  ...compiled.counts,
]

const queryOf = (
  projectId: string,
  { days, eventName, maxPeople = MAX_BACKTEST_PEOPLE }: DecisionBacktestRequest,
  scope: Scope,
  now: number,
): MomentsQuery => {
  const from = now - days * DAY_MS
  const counts = countsOfScope(scope)
  const { segments } = scope
  const windows = [
    ...counts.map((count) => count.days),
    ...segments.all.flatMap(({ condition }) => (condition.counts ?? []).map((count) => count.days)),
  ]
  return {
    projectId,
    from,
    to: now,
    eventName,
    countedEvents: [...new Set([...counts.map(({ event }) => event), ...segments.events])],
    countedFrom: Date.parse(`${firstDayOf(Math.max(1, ...windows), from)}T00:00:00Z`),
    maxPeople,
    maxMoments: MAX_BACKTEST_EVENTS,
  }
}

type Replaying = {
  pool: ManagementDeps['db']['pool']
  queryStore: QueryStore
  stop: AbortSignal
  turns: LoopTurns
}

const replay = async (
  { pool, queryStore, stop, turns }: Replaying,
  query: MomentsQuery,
  scope: Scope,
  { context = {} }: DecisionBacktestRequest,
) => {
  const { compiled, decisions } = scope
  const { projectId, from, eventName } = query
  const sample = await queryStore((store) => store.sampleMoments(query))
  const backtest: Backtest = {
    projectId,
    decisions,
    compiled,
    counts: countsOfScope(scope),
    countedEvents: new Set(query.countedEvents),
    context,
    decidesAt: (event) =>
      event.at >= from && !event.bot && (eventName === undefined || event.eventName === eventName),
  }
  const traits = traitsReadBy(scope)
  const tally = createBacktestTally(compiled.decision.definition, BACKTEST_SAMPLE)
  let steps = 0
  let newer = 0
  for await (const { person, moments } of peopleOf(pool, projectId, sample.moments, stop)) {
    const replayed: Replayed[] = []
    const subject = person.bucketingId
    for (const one of replayDecision(backtest, { subject, traits: person.traits, events: moments })) {
      replayed.push(one)
      steps += one.steps
      // Every evaluation may take milliseconds.
      if (turns.isOver()) await turns.next()
      stop.throwIfAborted()
    }
    tally.addPerson(person.profileId, replayed)
    const first = replayed[0]?.at
    if (first !== undefined && hasNewerTraits(person, traits, first)) newer += 1
    if (steps > MAX_STEPS) break
  }
  const { people, variants, ...result } = tally.result()
  return {
    people: sample.people,
    replayed: people,
    sampled: people < sample.people,
    ...result,
    variants: variants.map((variant) => ({
      ...variant,
      couponPoolId: compiled.variants.get(variant.variant)?.couponPoolId ?? null,
    })),
    unknown: newerTraits(newer),
  }
}

const conditionsOf = ({ needed }: Scope): unknown[] =>
  needed.flatMap(({ decision }) => decision.definition.rules.map(({ condition }) => condition))

/** The names of the traits that conditions and segments read; null: any of them. */
const traitsReadBy = (scope: Scope): ReadonlySet<string> | null => {
  const names = new Set(
    scope.segments.all.flatMap(({ key }) =>
      (scope.segments.get(key)?.filters ?? []).flatMap(({ property }) => property.path.slice(0, 1)),
    ),
  )
  for (const read of conditionsOf(scope).map(traitsIn)) {
    if (read === null) return null
    for (const name of read) names.add(name)
  }
  return names
}

const unknownOf = (
  scope: Scope,
  { context = {}, eventName }: DecisionBacktestRequest,
  from: number,
  to: number,
): UnknownNote[] => {
  const { compiled, needed, segments } = scope
  const { decision } = compiled
  const paths = [...new Set(conditionsOf(scope).flatMap((condition) => contextIn(condition, context)))]
  const late = rulesBefore(decision, to)
  const others = needed.filter((one) => one !== compiled).map((one) => one.decision.key)
  const notes: (UnknownNote | false)[] = [
    {
      code: 'requests',
      message:
        `Requests for decisions are not stored: ${eventName === undefined ? 'every event' : `every event ${eventName}`} ` +
        'of a person counts as one.',
    },
    paths.length > 0 && {
      code: 'context',
      message: `Conditions read ${paths.join(', ')}, which events do not have: pass them as context for everyone.`,
    },
    late.length > 0 && {
      code: 'ramp',
      message: `The ramps of these rules begin later, so that they give nobody anything: ${late.join(', ')}.`,
    },
    (others.length > 0 || segments.all.length > 0) && {
      code: 'references',
      message: `These are as they are now: ${[
        ...others.map((key) => `decision ${key}`),
        ...segments.all.map(({ key }) => `segment ${key}`),
      ].join(', ')}.`,
    },
    decision.definition.bucketing !== undefined && {
      code: 'bucketing',
      message:
        'A request is divided by the visitor id that it sends: people with several ids may have got several variants, and ' +
        'here each is divided by the first one.',
    },
    decision.definition.frequencyCap !== null && {
      code: 'frequency_cap',
      message: `The frequency cap is replayed from ${timeText(from)} on: what people got before does not count.`,
    },
    ALWAYS_UNKNOWN,
  ]
  return notes.filter((note) => note !== false)
}

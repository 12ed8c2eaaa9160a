import type {
  Bucketing,
  Decision,
  DecisionRule,
  DecisionVariant,
} from '@waymark/contracts/decision-definition'
import { PRODUCTION } from '@waymark/contracts/environment'
import { dateOfTime } from '@waymark/contracts/rfc3339'
import { type CompiledCondition, type CountRef, compileCondition, countsIn, segmentsIn } from './condition.ts'
import { inEachEnvironment, inEnvironment } from './environment.ts'
import { rampStepsOf, stateOf } from './rule-state.ts'
import { NO_SEGMENTS, type SegmentSet } from './segment.ts'

/**
 * A rule with its compiled condition, and the steps of its ramp, with times in ms since the epoch. `stoppedAt` is the
 * percentage at which a guard holds it; null while none does.
 */
export type CompiledRule = {
  rule: DecisionRule
  condition: CompiledCondition
  ramp: readonly { at: number; percentage: number }[]
  stoppedAt: number | null
}

/** The percentage of people in the rollout of a rule at a time, in ms since the epoch. */
export const rolloutAt = (
  { rule, ramp, stoppedAt }: Pick<CompiledRule, 'rule' | 'ramp' | 'stoppedAt'>,
  now: number,
): number => {
  if (stoppedAt !== null) return stoppedAt
  return rule.ramp ? (ramp.findLast(({ at }) => at <= now)?.percentage ?? 0) : rule.rollout
}

/** A compiled version of a decision. */
export type CompiledDecision = {
  decision: Decision
  variants: ReadonlyMap<string, DecisionVariant>
  rules: readonly CompiledRule[]
  /** The counts that its conditions read. */
  counts: readonly CountRef[]
  /** Its schedule, in ms since the epoch. */
  startsAt: number
  endsAt: number
}

/** Compiles a decision. @throws Error when a condition is not valid JsonLogic, or a time of its schedule is invalid */
export const compileDecision = (decision: Decision): CompiledDecision => {
  const { variants, rules, schedule, bucketing } = decision.definition
  const timeOf = (time: string | null | undefined, fallback: number): number =>
    time ? effectiveTime(dateOfTime(time).getTime(), bucketing) : fallback
  const compiled = rules.map((rule) => ({
    rule,
    condition: compileCondition(rule.condition),
    ...rolloutOf(decision, rule),
  }))
  return {
    decision,
    variants: new Map(variants.map((variant) => [variant.key, variant])),
    rules: compiled,
    counts: compiled.flatMap(({ condition }) => condition.counts),
    startsAt: timeOf(schedule?.startsAt, Number.NEGATIVE_INFINITY),
    endsAt: timeOf(schedule?.endsAt, Number.POSITIVE_INFINITY),
  }
}

/** When a time of a decision takes effect, in ms since the epoch. The clocks of flagd's providers count whole seconds. */
export const effectiveTime = (time: number, bucketing: Bucketing | undefined): number =>
  bucketing === undefined ? time : Math.ceil(time / 1_000) * 1_000

/** The ramp of a rule, and where a guard holds it. */
export const rolloutOf = (
  decision: Decision,
  rule: DecisionRule,
): Pick<CompiledRule, 'ramp' | 'stoppedAt'> => {
  const state = stateOf(decision, rule.id)
  const { bucketing } = decision.definition
  return {
    ramp: rampStepsOf(rule, state).map((step) => ({ ...step, at: effectiveTime(step.at, bucketing) })),
    stoppedAt: state?.stop ? (state.stop.action === 'rollback' ? 0 : state.stop.percentage) : null,
  }
}

/** A project's decisions in an environment. */
export type DecisionSet = {
  /** The same decisions in another environment. */
  in: (environment: string) => DecisionSet
  get: (key: string) => CompiledDecision | undefined
  /** The keys with those of all their prerequisites, so that they can be compiled one by one. */
  withPrerequisites: (keys: readonly string[]) => readonly string[]
  /** All decisions, the oldest first. */
  all: readonly Decision[]
  /** The active decisions, regardless of their schedules. */
  active: readonly Decision[]
  /** The segments that conditions refer to. */
  segments: SegmentSet
  /** The distinct counts that the conditions of active decisions of any environment read themselves. */
  counts: readonly CountRef[]
  /** The events of these counts, and of the segments that active decisions refer to. */
  readEvents: ReadonlySet<string>
  /** The events that are counted per person: those of active decisions, and of all segments. */
  countedEvents: ReadonlySet<string>
}

/**
 * A project's decisions in production. `compile` should cache its results by id, version and environment. A decision is
 * left out when it returns `undefined`.
 */
export const createDecisionSet = (
  decisions: readonly Decision[],
  compile: (decision: Decision) => CompiledDecision | undefined,
  segments: SegmentSet = NO_SEGMENTS,
): DecisionSet => {
  const sets = new Map<string, DecisionSet>()
  const counted = createCounted(decisions, segments)
  const setIn = (environment: string): DecisionSet => {
    const known = sets.get(environment)
    if (known) return known
    const own = decisions.map((decision) => inEnvironment(decision, environment))
    const set = createSet(own, compile, counted, setIn)
    sets.set(environment, set)
    return set
  }
  return setIn(PRODUCTION)
}

type Counted = Pick<DecisionSet, 'segments' | 'counts' | 'readEvents' | 'countedEvents'>

/** The counts of the conditions of all environments, which share the cached people. */
const createCounted = (decisions: readonly Decision[], segments: SegmentSet): Counted => {
  // Read without compiling, because compiling all decisions of a project takes long.
  const inConditions = <T>(read: (condition: unknown) => readonly T[]): T[] =>
    decisions
      .flatMap(inEachEnvironment)
      .filter(({ status }) => status === 'active')
      .flatMap(({ definition }) => definition.rules.flatMap(({ condition }) => read(condition)))
  let counts: readonly CountRef[] | undefined
  let readEvents: ReadonlySet<string> | undefined
  let countedEvents: ReadonlySet<string> | undefined
  return {
    segments,
    get counts() {
      counts ??= distinct(inConditions(countsIn))
      return counts
    },
    get readEvents() {
      readEvents ??= new Set([
        ...this.counts.map(({ event }) => event),
        ...new Set(inConditions(segmentsIn).flatMap((key) => segments.eventsOf(key))),
      ])
      return readEvents
    },
    get countedEvents() {
      countedEvents ??= new Set([...this.readEvents, ...segments.events])
      return countedEvents
    },
  }
}

const createSet = (
  decisions: readonly Decision[],
  compile: (decision: Decision) => CompiledDecision | undefined,
  counted: Counted,
  setIn: DecisionSet['in'],
): DecisionSet => {
  const byKey = new Map(decisions.map((decision) => [decision.key, decision]))
  const compiled = new Map<string, CompiledDecision | undefined>()
  const get = (key: string): CompiledDecision | undefined => {
    const decision = byKey.get(key)
    if (decision === undefined) return undefined
    if (!compiled.has(key)) compiled.set(key, compile(decision))
    return compiled.get(key)
  }
  const active = decisions.filter(({ status }) => status === 'active')
  return {
    in: setIn,
    get,
    withPrerequisites: (keys) => {
      // Iterating over a set includes entries that are added meanwhile.
      const needed = new Set(keys)
      for (const key of needed)
        for (const { prerequisites } of byKey.get(key)?.definition.rules ?? [])
          for (const { decision } of prerequisites) needed.add(decision)
      return [...needed]
    },
    all: decisions,
    active,
    segments: counted.segments,
    get counts() {
      return counted.counts
    },
    get readEvents() {
      return counted.readEvents
    },
    get countedEvents() {
      return counted.countedEvents
    },
  }
}

const distinct = (refs: readonly CountRef[]): CountRef[] => [
  ...new Map(refs.map((ref) => [`${ref.days}:${ref.event}`, ref])).values(),
]

import { type Decision, type DecisionRule, type DecisionVariant, dateOfTime } from '@waymark/contracts'
import { type CompiledCondition, type CountRef, compileCondition, countsIn } from './condition.ts'

/** A rule with its compiled condition. */
export type CompiledRule = { rule: DecisionRule; condition: CompiledCondition }

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
  const { variants, rules, schedule } = decision.definition
  const compiled = rules.map((rule) => ({ rule, condition: compileCondition(rule.condition) }))
  return {
    decision,
    variants: new Map(variants.map((variant) => [variant.key, variant])),
    rules: compiled,
    counts: compiled.flatMap(({ condition }) => condition.counts),
    startsAt: schedule?.startsAt ? dateOfTime(schedule.startsAt).getTime() : Number.NEGATIVE_INFINITY,
    endsAt: schedule?.endsAt ? dateOfTime(schedule.endsAt).getTime() : Number.POSITIVE_INFINITY,
  }
}

/** A project's decisions. */
export type DecisionSet = {
  get: (key: string) => CompiledDecision | undefined
  /** The keys with those of all their prerequisites, so that they can be compiled one by one. */
  withPrerequisites: (keys: readonly string[]) => readonly string[]
  /** All decisions, the oldest first. */
  all: readonly Decision[]
  /** The active decisions, regardless of their schedules. */
  active: readonly Decision[]
  /** The distinct counts that active decisions read, and their events. */
  counts: readonly CountRef[]
  countedEvents: ReadonlySet<string>
}

/** `compile` should cache its results. A decision is left out when it returns `undefined`. */
export const createDecisionSet = (
  decisions: readonly Decision[],
  compile: (decision: Decision) => CompiledDecision | undefined,
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
  let counts: readonly CountRef[] | undefined
  let countedEvents: ReadonlySet<string> | undefined
  return {
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
    get counts() {
      // Read without compiling, because compiling all decisions of a project takes long.
      counts ??= distinct(
        active.flatMap(({ definition }) => definition.rules.flatMap(({ condition }) => countsIn(condition))),
      )
      return counts
    },
    get countedEvents() {
      countedEvents ??= new Set(this.counts.map(({ event }) => event))
      return countedEvents
    },
  }
}

const distinct = (refs: readonly CountRef[]): CountRef[] => [
  ...new Map(refs.map((ref) => [`${ref.days}:${ref.event}`, ref])).values(),
]

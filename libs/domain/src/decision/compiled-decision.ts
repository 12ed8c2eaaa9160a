import { type Decision, type DecisionRule, type DecisionVariant, dateOfTime } from '@waymark/contracts'
import { type CompiledCondition, type CountRef, compileCondition, countsIn } from './condition.ts'

/** A rule with its condition ready. */
export type CompiledRule = { rule: DecisionRule; condition: CompiledCondition }

/** One version of a decision, ready to decide. */
export type CompiledDecision = {
  decision: Decision
  variants: ReadonlyMap<string, DecisionVariant>
  rules: readonly CompiledRule[]
  /** What its conditions read of a person's past. */
  counts: readonly CountRef[]
  /** Its schedule, in ms since the epoch. */
  startsAt: number
  endsAt: number
}

/** Compiles a decision, once per version. @throws Error when a condition is no JsonLogic, or its schedule no time */
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
  /** These and all decisions that they depend on, so that `get` can compile them one by one before they are made. */
  withPrerequisites: (keys: readonly string[]) => readonly string[]
  /** All of them, the oldest first. */
  all: readonly Decision[]
  /** Those that are active, whatever their schedules say. */
  active: readonly Decision[]
  /** What active decisions read of people's pasts, each once, and the events that this takes. */
  counts: readonly CountRef[]
  countedEvents: ReadonlySet<string>
}

/** `compile` may remember what it has compiled; what it answers `undefined` for is left out. */
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
      // A set that grows while it is gone through: what is added is gone through, too.
      const needed = new Set(keys)
      for (const key of needed)
        for (const { prerequisites } of byKey.get(key)?.definition.rules ?? [])
          for (const { decision } of prerequisites) needed.add(decision)
      return [...needed]
    },
    all: decisions,
    active,
    get counts() {
      // Read from the rules themselves: compiling every decision of a project at once takes long.
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

import type {
  Decision,
  DecisionDefinition,
  DecisionRule,
  RuleState,
  RuleStates,
  RuleStop,
} from '@waymark/contracts/decision-definition'
import { PRODUCTION } from '@waymark/contracts/environment'
import { dateOfTime } from '@waymark/contracts/rfc3339'

/** The state of a rule of a decision in its environment. */
export const stateOf = (
  { states, environment = PRODUCTION }: Decision,
  ruleId: string,
): RuleState | undefined =>
  states && Object.hasOwn(states, environment) ? states[environment]?.[ruleId] : undefined

/** The states with that of one more rule. */
export const withState = (
  states: RuleStates | null | undefined,
  environment: string,
  ruleId: string,
  state: RuleState,
): RuleStates => ({ ...states, [environment]: { ...states?.[environment], [ruleId]: state } })

/**
 * The steps of the ramp of a rule that have begun or begin at a known time, in ms since the epoch. Those after a step with
 * `minPeople` begin when the evidence for it is there.
 */
export const rampStepsOf = (
  { ramp = [] }: DecisionRule,
  { begun = {}, delayMs = 0 }: Partial<RuleState> = {},
): { at: number; percentage: number }[] => {
  const steps: { at: number; percentage: number }[] = []
  for (const [index, { at, percentage }] of ramp.entries()) {
    const begunAt = begun[index]
    const waits = ramp[index - 1]?.minPeople !== undefined
    if (waits && begunAt === undefined) break
    const time = begunAt === undefined ? dateOfTime(at).getTime() + delayMs : dateOfTime(begunAt).getTime()
    steps.push({ at: Math.max(time, steps.at(-1)?.at ?? time), percentage })
  }
  return steps
}

/** The index of the step that a ramp is in, and when it began, in ms since the epoch. Undefined before the first. */
export const currentStepOf = (
  rule: DecisionRule,
  state: RuleState | undefined,
  now: number,
): { index: number; since: number } | undefined => {
  const steps = rampStepsOf(rule, state)
  const index = steps.findLastIndex(({ at }) => at <= now)
  const step = steps[index]
  return step && { index, since: step.at }
}

const rulesByEnvironment = ({ rules, environments = {} }: DecisionDefinition): [string, DecisionRule[]][] => [
  [PRODUCTION, rules],
  ...Object.entries(environments).map(([name, own]): [string, DecisionRule[]] => [name, own.rules]),
]

/** Whether a rule of a decision has guards, in any environment. */
export const isGuarded = (definition: DecisionDefinition): boolean =>
  rulesByEnvironment(definition).some(([, rules]) => rules.some(({ guards }) => guards !== undefined))

/**
 * The states of rules after a change of their decision. People count from `now` (RFC 3339) on where who gets what has
 * changed, because they cannot be compared with those from before. What was stopped stays so, also without its guards.
 */
export const keepStates = (
  before: DecisionDefinition | null,
  after: DecisionDefinition,
  states: RuleStates | null | undefined,
  now: string,
): RuleStates | null => {
  const rulesBefore = new Map(before ? rulesByEnvironment(before) : [])
  const kept = rulesByEnvironment(after).flatMap(
    ([environment, rules]): [string, Record<string, RuleState>][] => {
      const own = rules.flatMap((rule): [string, RuleState][] => {
        const state = states?.[environment]?.[rule.id]
        if (!rule.guards && !state?.stop) return []
        const old = rulesBefore.get(environment)?.find(({ id }) => id === rule.id)
        const isSame = old && before && assignmentOf(old, before) === assignmentOf(rule, after)
        if (state && isSame) return [[rule.id, state]]
        // The times of a new ramp are meant as they are.
        return [[rule.id, { ...state, countedFrom: now, delayMs: 0 }]]
      })
      return own.length === 0 ? [] : [[environment, Object.fromEntries(own)]]
    },
  )
  return kept.length === 0 ? null : Object.fromEntries(kept)
}

/** Who gets what by a rule. */
const assignmentOf = (
  { condition, prerequisites, rollout, ramp, variant, split }: DecisionRule,
  { salt, bucketing }: DecisionDefinition,
) => JSON.stringify([condition, prerequisites, rollout, ramp, variant, split, salt, bucketing])

/** What guards have stopped of a decision. */
export const stopsOf = (
  states: RuleStates | null | undefined,
): (RuleStop & { environment: string; ruleId: string })[] =>
  Object.entries(states ?? {}).flatMap(([environment, rules]) =>
    Object.entries(rules).flatMap(([ruleId, { stop }]) => (stop ? [{ environment, ruleId, ...stop }] : [])),
  )

/** Whether a guard has turned a decision off in an environment. */
export const hasPause = (states: RuleStates | null | undefined, environment: string): boolean =>
  stopsOf(states).some((stop) => stop.environment === environment && stop.action === 'pause')

/**
 * The states after an environment was resumed at `now` (RFC 3339). Ramps go on where they were stopped, and guards count
 * people anew: otherwise they would stop the rule again by what is known already.
 */
export const resumed = (states: RuleStates, environment: string, now: string): RuleStates => ({
  ...states,
  [environment]: Object.fromEntries(
    Object.entries(states[environment] ?? {}).map(([ruleId, { stop, ...state }]) => {
      if (!stop) return [ruleId, state]
      const since = Math.max(dateOfTime(stop.at).getTime(), dateOfTime(state.countedFrom).getTime())
      const delayMs = (state.delayMs ?? 0) + Math.max(0, dateOfTime(now).getTime() - since)
      return [ruleId, { ...state, countedFrom: now, delayMs }]
    }),
  ),
})

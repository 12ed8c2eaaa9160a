import type { Decision, DecisionRule } from '@waymark/contracts/decision-definition'
import type { DecisionReason } from '@waymark/contracts/http/decide'
import { type LogicData, logicData } from '../logic/compile-logic.ts'
import { WorkBudget } from '../logic/work-budget.ts'
import {
  BUCKETS,
  type BucketPurpose,
  bucketOf,
  bucketPrefix,
  bucketsIn,
  flagdBucketOf,
  shareOf,
  totalOf,
} from './bucket.ts'
import { type CompiledDecision, type CompiledRule, type DecisionSet, rolloutAt } from './compiled-decision.ts'
import { type CompiledCondition, type ConditionData, compileCondition, type DayCount } from './condition.ts'
import { createSegmentLookup } from './segment.ts'

/** The result of a decision and its reason. */
export type Choice = {
  variant: string
  value: unknown
  reason: Exclude<DecisionReason, 'CAPPED' | 'ERROR'>
  ruleId: string | null
  /** Whether the person belongs to the experiment, so that the variant depends on chance only. */
  eligible: boolean
}

/** The person, the context and the time of decisions. */
type Situation = {
  projectId: string
  subject: string
  /** What decisions with the buckets of flagd hash: the id as it was sent. Default: the subject. */
  targetingKey?: string
  data: ConditionData
  /** The daily counts of the person, for segments. Default: none. */
  days?: readonly DayCount[]
  /** Ms since the epoch. */
  now: number
}

/** A bucket, and the upper bound of the buckets that are included. */
type BucketCheck = { bucket: number; below: number; in: boolean }

/** The evaluation of one rule. */
export type RuleOutcome = {
  condition: boolean
  prerequisites: { decision: string; variants: string[]; variant: string | null; met: boolean }[]
  rollout: BucketCheck
  split: BucketCheck | null
  /** The variant of the rule. Null when it does not apply. */
  variant: string | null
}

/**
 * Evaluates the decisions of a project for one person, each at most once. Frequency caps and coupons are up to the caller.
 * `budget` limits the steps of all conditions together.
 */
export const createDecider = (decisions: DecisionSet, situation: Situation, budget = new WorkBudget()) => {
  const { projectId, subject, targetingKey = subject, data, days = [], now } = situation
  const segments = createSegmentLookup(decisions.segments, { traits: data.traits, days, now })
  // `null` during the evaluation, so that a decision that depends on itself gets no variant.
  const made = new Map<string, Choice | null>()
  let prepared: LogicData | undefined
  let exceeded = false

  /** A condition that exceeds the remaining budget is false. */
  const holds = (condition: CompiledCondition): boolean => {
    prepared ??= logicData(data, segments)
    const answer = condition.evaluate(prepared, budget)
    if (answer === 'exceeded') exceeded = true
    return answer === 'holds'
  }

  /** With a budget of their own, so that the rules have all of theirs. */
  const membershipsOf = ({ rules }: CompiledDecision): Record<string, boolean> => {
    prepared ??= logicData(data, segments)
    const [person, own] = [prepared, new WorkBudget()]
    const keys = new Set(rules.flatMap(({ condition }) => condition.segments))
    const isMember = (key: string) => compileCondition({ segment: key }).evaluate(person, own) === 'holds'
    return Object.fromEntries([...keys].map((key) => [key, isMember(key)]))
  }

  /** The bucket of the person, of `total` with the buckets of flagd. */
  const bucketIn = (
    { decision: { key, definition } }: CompiledDecision,
    purpose: BucketPurpose,
    total: number = BUCKETS,
  ): number => {
    const { salt, bucketing } = definition
    return bucketing === undefined
      ? bucketOf(salt, key, purpose, subject)
      : flagdBucketOf(bucketing, `${bucketPrefix(salt, key, purpose)}${targetingKey}`, total)
  }

  const checkBucket = (
    compiled: CompiledDecision,
    purpose: BucketPurpose,
    percentage: number,
  ): BucketCheck => {
    const bucket = bucketIn(compiled, purpose)
    const below = bucketsIn(percentage)
    return { bucket, below, in: bucket < below }
  }

  /** The variant of another decision. Null unless it is active. */
  const variantOf = (key: string): string | null => {
    const compiled = decisions.get(key)
    if (!compiled || !isDeciding(compiled, now)) return null
    return decide(compiled)?.variant ?? null
  }

  const prerequisitesOf = ({ prerequisites }: DecisionRule): RuleOutcome['prerequisites'] =>
    prerequisites.map(({ decision, variants }) => {
      const variant = variantOf(decision)
      return { decision, variants, variant, met: variant !== null && variants.includes(variant) }
    })

  /** Whether a rule targets this person, before its rollout. */
  const isFor = ({ rule, condition }: CompiledRule): boolean =>
    holds(condition) && (rule.prerequisites.length === 0 || prerequisitesOf(rule).every(({ met }) => met))

  /** The variant of a rule. Null for a person outside of its rollout. */
  const givenBy = (compiled: CompiledDecision, compiledRule: CompiledRule): string | null => {
    const { rule } = compiledRule
    const rollout = rolloutAt(compiledRule, now)
    if (rollout < 100 && !checkBucket(compiled, `rollout:${rule.id}`, rollout).in) return null
    if (rule.split === null) return rule.variant
    const buckets = compiled.decision.definition.bucketing === undefined ? BUCKETS : totalOf(rule.split)
    return shareOf(rule.split, bucketIn(compiled, `split:${rule.id}`, buckets), buckets)?.variant ?? null
  }

  /** Whether the person is in the decision's slice of its exclusion group. */
  const checkGroup = ({ decision }: CompiledDecision): { bucket: number; in: boolean } | null => {
    const group = decision.definition.exclusionGroup
    if (group === null) return null
    const bucket = bucketOf(projectId, group.name, 'exclusion', subject)
    return { bucket, in: bucket >= bucketsIn(group.from) && bucket < bucketsIn(group.to) }
  }

  const choose = (compiled: CompiledDecision): Choice => {
    const { fallbackVariant, holdout } = compiled.decision.definition
    const give = (variant: string, reason: Choice['reason'], ruleId: string | null, eligible: boolean) => ({
      variant,
      value: compiled.variants.get(variant)?.value ?? null,
      reason,
      ruleId,
      eligible,
    })
    if (holdout > 0 && checkBucket(compiled, 'holdout', holdout).in)
      return give(fallbackVariant, 'HOLDOUT', null, compiled.rules.some(isFor))
    if (checkGroup(compiled)?.in === false) return give(fallbackVariant, 'DEFAULT', null, false)
    let eligible = false
    for (const compiledRule of compiled.rules) {
      if (!isFor(compiledRule)) continue
      eligible = true
      const { rule } = compiledRule
      const variant = givenBy(compiled, compiledRule)
      if (variant !== null)
        return give(variant, rule.split === null ? 'TARGETING_MATCH' : 'SPLIT', rule.id, true)
    }
    return give(fallbackVariant, 'DEFAULT', null, eligible)
  }

  const decide = (compiled: CompiledDecision): Choice | null => {
    const { key } = compiled.decision
    const known = made.get(key)
    if (known !== undefined) return known
    made.set(key, null)
    const choice = choose(compiled)
    made.set(key, choice)
    return choice
  }

  return {
    /** Whether a condition was false because it exceeded the budget. */
    exceeded: (): boolean => exceeded,

    /** The current result of a decision: by its rules while it is active, else its fallback variant. */
    decide: (compiled: CompiledDecision): Choice =>
      (isDeciding(compiled, now) ? decide(compiled) : null) ?? disabled(compiled),

    /** The result as if the decision were active and within its schedule. */
    decideAsIfActive: (compiled: CompiledDecision): Choice => choose(compiled),

    /**
     * How the decision gives the person a variant, if the conditions of all its rules hold: by the holdout, by the first rule
     * whose buckets give it, or as the fallback variant. Undefined when it gives another one.
     */
    choiceOfVariant: (compiled: CompiledDecision, variant: string): Choice | undefined => {
      const { fallbackVariant, holdout } = compiled.decision.definition
      const isFallback = variant === fallbackVariant
      const value = compiled.variants.get(variant)?.value ?? null
      const other = (reason: 'HOLDOUT' | 'DEFAULT'): Choice | undefined =>
        isFallback ? { variant, value, reason, ruleId: null, eligible: true } : undefined
      if (holdout > 0 && checkBucket(compiled, 'holdout', holdout).in) return other('HOLDOUT')
      const giving = compiled.rules.find((rule) => givenBy(compiled, rule) === variant)?.rule
      if (!giving) return other('DEFAULT')
      const reason = giving.split === null ? 'TARGETING_MATCH' : 'SPLIT'
      return { variant, value, reason, ruleId: giving.id, eligible: true }
    },

    /** Every step, including rules that are not reached. */
    explain: (compiled: CompiledDecision) => ({
      holdout: checkBucket(compiled, 'holdout', compiled.decision.definition.holdout),
      exclusionGroup: checkGroup(compiled),
      /** Whether the person is in the segments that its rules refer to. */
      segments: membershipsOf(compiled),
      rules: compiled.rules.map((compiledRule): RuleOutcome & { id: string } => {
        const { rule, condition } = compiledRule
        const prerequisites = prerequisitesOf(rule)
        const isHeld = holds(condition)
        const applies = isHeld && prerequisites.every(({ met }) => met)
        return {
          id: rule.id,
          condition: isHeld,
          prerequisites,
          rollout: checkBucket(compiled, `rollout:${rule.id}`, rolloutAt(compiledRule, now)),
          split: rule.split && checkBucket(compiled, `split:${rule.id}`, 100),
          variant: applies ? givenBy(compiled, compiledRule) : null,
        }
      }),
    }),
  }
}

/** Whether clients may know the decision: neither a draft nor archived. */
export const isPublished = ({ status }: Decision): boolean => status === 'active' || status === 'paused'

/** Whether a decision is active and within its schedule. */
export const isDeciding = ({ decision, startsAt, endsAt }: CompiledDecision, now: number): boolean =>
  decision.status === 'active' && now >= startsAt && now < endsAt

const disabled = ({ decision, variants }: CompiledDecision): Choice => {
  const { fallbackVariant } = decision.definition
  const value = variants.get(fallbackVariant)?.value ?? null
  return { variant: fallbackVariant, value, reason: 'DISABLED', ruleId: null, eligible: false }
}

import type { DecisionReason, DecisionRule } from '@waymark/contracts'
import { type LogicData, logicData } from '../logic/compile-logic.ts'
import { WorkBudget } from '../logic/work-budget.ts'
import { type BucketPurpose, bucketOf, bucketsIn, shareOf } from './bucket.ts'
import type { CompiledDecision, CompiledRule, DecisionSet } from './compiled-decision.ts'
import type { CompiledCondition, ConditionData } from './condition.ts'

/** What a decision gives, and why. */
export type Choice = {
  variant: string
  value: unknown
  reason: Exclude<DecisionReason, 'CAPPED' | 'ERROR'>
  ruleId: string | null
  /** Whether the person is one of those whom the decision is about: who got something else did so by chance. */
  eligible: boolean
}

/** For whom and when decisions are made. */
export type Situation = {
  projectId: string
  subject: string
  data: ConditionData
  /** Ms since the epoch. */
  now: number
}

/** A bucket, and where those that are in end. */
export type BucketCheck = { bucket: number; below: number; in: boolean }

/** What came of one rule, each step of it. */
export type RuleOutcome = {
  condition: boolean
  prerequisites: { decision: string; variants: string[]; variant: string | null; met: boolean }[]
  rollout: BucketCheck
  split: BucketCheck | null
  /** What the rule gives; null when it does not apply. */
  variant: string | null
}

/**
 * Decides for one person: answers questions about any decision of a project, each decision worked out at most once.
 * The rules themselves are pure: frequency caps and coupons are the caller's. `budget` bounds what all conditions cost.
 */
export const createDecider = (decisions: DecisionSet, situation: Situation, budget = new WorkBudget()) => {
  const { projectId, subject, data, now } = situation
  // `null` while it is being worked out: a decision that depends on itself, which saving refuses, gets no variant.
  const made = new Map<string, Choice | null>()
  let prepared: LogicData | undefined
  let exceeded = false

  /** A condition that would cost more than what is left of the budget does not hold. */
  const holds = (condition: CompiledCondition): boolean => {
    prepared ??= logicData(data)
    const answer = condition.evaluate(prepared, budget)
    if (answer === 'exceeded') exceeded = true
    return answer === 'holds'
  }

  const checkBucket = (
    { decision }: CompiledDecision,
    purpose: BucketPurpose,
    percentage: number,
  ): BucketCheck => {
    const bucket = bucketOf(decision.definition.salt, decision.key, purpose, subject)
    const below = bucketsIn(percentage)
    return { bucket, below, in: bucket < below }
  }

  /** The variant of another decision; null unless that one is deciding. */
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

  /** Whether a rule is for this person, chance aside. */
  const isFor = ({ rule, condition }: CompiledRule): boolean =>
    holds(condition) && (rule.prerequisites.length === 0 || prerequisitesOf(rule).every(({ met }) => met))

  /** What a rule gives those that it is for; null for who is not in its rollout. */
  const givenBy = (compiled: CompiledDecision, rule: DecisionRule): string | null => {
    if (rule.rollout < 100 && !checkBucket(compiled, `rollout:${rule.id}`, rule.rollout).in) return null
    if (rule.split === null) return rule.variant
    const { key, definition } = compiled.decision
    return shareOf(rule.split, bucketOf(definition.salt, key, `split:${rule.id}`, subject))?.variant ?? null
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
      const variant = givenBy(compiled, rule)
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
    /** Whether a condition was taken not to hold because it would have cost too much. */
    exceeded: (): boolean => exceeded,

    /** What a decision gives now: by its rules while it is deciding, else its fallback variant. */
    decide: (compiled: CompiledDecision): Choice =>
      (isDeciding(compiled, now) ? decide(compiled) : null) ?? disabled(compiled),

    /** What it would give if it were active and within its schedule. */
    decideAsIfActive: (compiled: CompiledDecision): Choice => choose(compiled),

    /** Every step, also of rules that the person never comes to. */
    explain: (compiled: CompiledDecision) => ({
      holdout: checkBucket(compiled, 'holdout', compiled.decision.definition.holdout),
      exclusionGroup: checkGroup(compiled),
      rules: compiled.rules.map(({ rule, condition }): RuleOutcome & { id: string } => {
        const prerequisites = prerequisitesOf(rule)
        const isHeld = holds(condition)
        const applies = isHeld && prerequisites.every(({ met }) => met)
        return {
          id: rule.id,
          condition: isHeld,
          prerequisites,
          rollout: checkBucket(compiled, `rollout:${rule.id}`, rule.rollout),
          split: rule.split && checkBucket(compiled, `split:${rule.id}`, 100),
          variant: applies ? givenBy(compiled, rule) : null,
        }
      }),
    }),
  }
}

/** Whether a decision asks its rules: it is active, and now is within its schedule. */
export const isDeciding = ({ decision, startsAt, endsAt }: CompiledDecision, now: number): boolean =>
  decision.status === 'active' && now >= startsAt && now < endsAt

const disabled = ({ decision, variants }: CompiledDecision): Choice => {
  const { fallbackVariant } = decision.definition
  const value = variants.get(fallbackVariant)?.value ?? null
  return { variant: fallbackVariant, value, reason: 'DISABLED', ruleId: null, eligible: false }
}

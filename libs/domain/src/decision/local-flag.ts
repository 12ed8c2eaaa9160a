import type { Decision, DecisionRule } from '@waymark/contracts/decision-definition'
import { dateOfTime } from '@waymark/contracts/rfc3339'
import { BUCKETS, type BucketPurpose, bucketPrefix, bucketsIn } from './bucket.ts'
import { effectiveTime, rolloutOf } from './compiled-decision.ts'
import { localCondition, NotLocalError } from './local-condition.ts'

/** A flag in the format of flagd. */
export type LocalFlag = {
  state: 'ENABLED'
  variants: Record<string, unknown>
  defaultVariant: string
  targeting?: Record<string, unknown>
  metadata: { decisionId: string; version: number }
}

/** Why flagd's providers cannot evaluate a decision. */
export type LocalProblem = { ruleId: string | null; code: string; message: string }

/** Bytes of the JSON of a flag. A condition may grow when it is translated. */
const MAX_FLAG_BYTES = 64 * 1024

/**
 * A decision in an environment as a flag that flagd's providers evaluate with the same result, or why they cannot. It does not
 * depend on the time: ramps and schedules are part of it.
 */
export const localFlagOf = (decision: Decision): LocalFlag | LocalProblem[] => {
  const problems = problemsOf(decision)
  const conditions = decision.definition.rules.map((rule) => {
    try {
      return localCondition(rule.condition)
    } catch (error) {
      if (!(error instanceof NotLocalError)) throw error
      problems.push({ ruleId: rule.id, code: error.code, message: `The condition ${error.message}` })
      return false
    }
  })
  if (problems.length > 0) return problems
  const flag = flagOf(decision, conditions)
  return Buffer.byteLength(JSON.stringify(flag)) > MAX_FLAG_BYTES
    ? [problem('size', `It would be a flag of more than ${MAX_FLAG_BYTES} bytes`)]
    : flag
}

const problem = (code: string, message: string, ruleId: string | null = null): LocalProblem => ({
  ruleId,
  code,
  message,
})

const problemsOf = ({ definition }: Decision): LocalProblem[] => {
  const { variants, rules, holdout, frequencyCap, exclusionGroup, schedule, bucketing } = definition
  const times = [schedule?.startsAt, schedule?.endsAt].flatMap((time) =>
    time ? dateOfTime(time).getTime() : [],
  )
  const own = 'has the buckets of Waymark: set bucketing to flagd'
  return [
    ...(frequencyCap ? [problem('frequency_cap', 'It counts how often a person gets a variant')] : []),
    ...(exclusionGroup ? [problem('exclusion_group', 'It is in an exclusion group')] : []),
    ...(variants.some(({ couponPoolId }) => couponPoolId !== null)
      ? [problem('coupons', 'A variant hands out coupons')]
      : []),
    ...(isOfOneType(variants.map(({ value }) => value))
      ? []
      : [problem('values', 'Values of a flag are all texts, all numbers, all booleans or all objects')]),
    ...(bucketing === undefined && times.some((time) => time % 1_000 !== 0)
      ? [problem('schedule', 'Its schedule has parts of seconds')]
      : []),
    ...(bucketing === undefined && holdout > 0 ? [problem('bucketing', `The holdout ${own}`)] : []),
    ...rules.flatMap((rule) => [
      ...(bucketing === undefined && hasShare(rule)
        ? [problem('bucketing', `The rule ${own}`, rule.id)]
        : []),
      ...(rule.prerequisites.length > 0
        ? [problem('prerequisites', 'The rule depends on other decisions', rule.id)]
        : []),
    ]),
  ]
}

const isOfOneType = (values: readonly unknown[]): boolean =>
  values.every((value) => value !== null && !Array.isArray(value) && typeof value === typeof values[0])

const hasShare = ({ rollout, ramp, split }: DecisionRule): boolean =>
  rollout < 100 || ramp !== undefined || split !== null

const flagOf = (decision: Decision, conditions: readonly unknown[]): LocalFlag => {
  const { id, version, status, definition } = decision
  const { variants, fallbackVariant } = definition
  const targeting = status === 'active' ? targetingOf(decision, conditions) : undefined
  return {
    state: 'ENABLED',
    variants: Object.fromEntries(variants.map(({ key, value }) => [key, value])),
    defaultVariant: fallbackVariant,
    ...(targeting && { targeting }),
    metadata: { decisionId: id, version },
  }
}

/** JsonLogic that gives the variant, or null for the default one. */
const targetingOf = (decision: Decision, conditions: readonly unknown[]): LocalFlag['targeting'] => {
  const { definition } = decision
  const { rules, holdout, fallbackVariant } = definition
  if (rules.length === 0) return undefined
  const shared = holdout > 0 || rules.some(hasShare)
  // Whom a rule targets gets the fallback variant by name, so that its exposure is reported: they are compared.
  const targeted = conditions.includes(true) ? true : { or: [...conditions, false] }
  const otherwise = shared ? [{ if: [targeted, fallbackVariant, null] }] : [null]
  const held = holdout > 0 ? [share(decision, 'holdout', bucketsIn(holdout)), ...otherwise] : []
  const ruled = rules.flatMap((rule, index) => [
    { and: [conditions[index], rolloutLogic(decision, rule)] },
    rule.split === null ? rule.variant : splitLogic(decision, rule, rule.split),
  ])
  return {
    if: [
      { and: [...(shared ? [TARGETING_KEY] : [true]), ...scheduleLogic(decision)] },
      { if: [...held, ...ruled, ...otherwise] },
      null,
    ],
  }
}

const TARGETING_KEY = { var: 'targetingKey' }
const TIMESTAMP = { var: '$flagd.timestamp' }

const scheduleLogic = ({ definition: { schedule, bucketing } }: Decision): unknown[] => {
  const secondsOf = (time: string) => effectiveTime(dateOfTime(time).getTime(), bucketing) / 1_000
  return [
    ...(schedule?.startsAt ? [{ '>=': [TIMESTAMP, secondsOf(schedule.startsAt)] }] : []),
    ...(schedule?.endsAt ? [{ '<': [TIMESTAMP, secondsOf(schedule.endsAt)] }] : []),
  ]
}

/** Whether the person is in the rollout of a rule now. */
const rolloutLogic = (decision: Decision, rule: DecisionRule): unknown => {
  const { ramp, stoppedAt } = rolloutOf(decision, rule)
  const inFirst = (percentage: number) => share(decision, `rollout:${rule.id}`, bucketsIn(percentage))
  if (stoppedAt !== null) return inFirst(stoppedAt)
  if (!rule.ramp) return inFirst(rule.rollout)
  const steps = ramp.toReversed()
  return {
    if: [
      ...steps.flatMap(({ at, percentage }) => [{ '>=': [TIMESTAMP, at / 1_000] }, inFirst(percentage)]),
      false,
    ],
  }
}

/** Whether the person is in the first buckets for a purpose. */
const share = (decision: Decision, purpose: BucketPurpose, buckets: number): unknown => {
  if (buckets >= BUCKETS) return true
  const weights = [
    ['in', buckets],
    ['out', BUCKETS - buckets],
  ]
  return { '===': [fractional(decision, purpose, weights), 'in'] }
}

const splitLogic = (decision: Decision, { id }: DecisionRule, split: NonNullable<DecisionRule['split']>) =>
  fractional(
    decision,
    `split:${id}`,
    split.map(({ variant, weight }) => [variant, weight]),
  )

const fractional = ({ key, definition }: Decision, purpose: BucketPurpose, weights: readonly unknown[]) => ({
  fractional: [{ cat: [bucketPrefix(definition.salt, key, purpose), TARGETING_KEY] }, ...weights],
})

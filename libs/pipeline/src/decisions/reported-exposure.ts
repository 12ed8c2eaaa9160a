import { CLIENT_TIME_WORDS, readClientTime } from '@waymark/contracts/client-time'
import { MAX_EXPOSURE_AGE_MS, type ReportedExposure } from '@waymark/contracts/http/decide'
import {
  type Choice,
  type CompiledDecision,
  createDecider,
  type DecisionSet,
  isPublished,
  targetingKeyOf,
} from '@waymark/domain/decision'
import type { Identity } from '@waymark/domain/identity'

/** A choice that a person saw, at a time in ms. */
type ReadExposure = { compiled: CompiledDecision; choice: Choice; at: number }

/** The exposure that a client reports, or why it does not count. @param now in ms */
export const readExposure = (
  exposure: ReportedExposure,
  decisions: DecisionSet,
  now: number,
): ReadExposure | string => {
  const { key, variant, ruleId, targeted, at } = exposure
  const compiled = decisions.get(key)
  if (!compiled || !isPublished(compiled.decision)) return `There is no active or paused decision ${key}`
  const reported = at == null ? now : readClientTime(at)
  if (reported === undefined) return `at must be ${CLIENT_TIME_WORDS}`
  const time = Math.min(now, reported)
  if (now - time > MAX_EXPOSURE_AGE_MS) return 'at is more than 7 days ago'
  const { rules, bucketing } = compiled.decision.definition
  if (targeted === true && bucketing !== undefined && ruleId == null) {
    const choice = localChoice(compiled, exposure, decisions, time)
    if (choice) return { compiled, choice, at: time }
  }
  const rule = rules.find(
    (one) =>
      (ruleId == null || one.id === ruleId) &&
      (one.variant === variant || one.split?.some((share) => share.variant === variant)),
  )
  if (!rule)
    return ruleId == null
      ? `No rule of ${key} gives the variant ${variant}`
      : `The rule ${ruleId} of ${key} does not give the variant ${variant}`
  const reason = rule.split === null ? ('TARGETING_MATCH' as const) : ('SPLIT' as const)
  const value = compiled.variants.get(variant)?.value ?? null
  return { compiled, choice: { variant, value, reason, ruleId: rule.id, eligible: true }, at: time }
}

/**
 * How a decision with the buckets of flagd gave a person a variant: providers do not say by which rule. Undefined when it gives
 * the person another one by now.
 */
const localChoice = (
  compiled: CompiledDecision,
  { variant, visitorId = null, userId = null }: ReportedExposure,
  decisions: DecisionSet,
  time: number,
): Choice | undefined => {
  const targetingKey = targetingKeyOf({ visitorId, userId })
  const data = { traits: {}, context: {}, counts: {} }
  const { projectId } = compiled.decision
  return createDecider(decisions, {
    projectId,
    subject: targetingKey,
    targetingKey,
    data,
    now: time,
  }).choiceOfVariant(compiled, variant)
}

/** Whose exposure is reported: the user's, else the visitor's. */
export const exposedIdentity = (
  projectId: string,
  { visitorId, userId }: Pick<ReportedExposure, 'visitorId' | 'userId'>,
): Identity =>
  userId == null
    ? { projectId, kind: 'visitor', value: visitorId ?? '' }
    : { projectId, kind: 'user', value: userId }

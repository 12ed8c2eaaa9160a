import { CLIENT_TIME_WORDS, readClientTime } from '@waymark/contracts/client-time'
import { MAX_EXPOSURE_AGE_MS, type ReportedExposure } from '@waymark/contracts/http/decide'
import { type Choice, type CompiledDecision, type DecisionSet, isPublished } from '@waymark/domain/decision'
import type { Identity } from '@waymark/domain/identity'

/** A choice that a person saw, at a time in ms. */
type ReadExposure = { compiled: CompiledDecision; choice: Choice; at: number }

/** The exposure that a client reports, or why it does not count. @param now in ms */
export const readExposure = (
  { key, variant, ruleId, at }: Pick<ReportedExposure, 'key' | 'variant' | 'ruleId' | 'at'>,
  decisions: Pick<DecisionSet, 'get'>,
  now: number,
): ReadExposure | string => {
  const compiled = decisions.get(key)
  if (!compiled || !isPublished(compiled.decision)) return `There is no active or paused decision ${key}`
  const { rules } = compiled.decision.definition
  const rule = rules.find(
    (one) =>
      (ruleId == null || one.id === ruleId) &&
      (one.variant === variant || one.split?.some((share) => share.variant === variant)),
  )
  if (!rule)
    return ruleId == null
      ? `No rule of ${key} gives the variant ${variant}`
      : `The rule ${ruleId} of ${key} does not give the variant ${variant}`
  const reported = at == null ? now : readClientTime(at)
  if (reported === undefined) return `at must be ${CLIENT_TIME_WORDS}`
  const time = Math.min(now, reported)
  if (now - time > MAX_EXPOSURE_AGE_MS) return 'at is more than 7 days ago'
  const reason = rule.split === null ? ('TARGETING_MATCH' as const) : ('SPLIT' as const)
  const value = compiled.variants.get(variant)?.value ?? null
  return { compiled, choice: { variant, value, reason, ruleId: rule.id, eligible: true }, at: time }
}

/** Whose exposure is reported: the user's, else the visitor's. */
export const exposedIdentity = (
  projectId: string,
  { visitorId, userId }: Pick<ReportedExposure, 'visitorId' | 'userId'>,
): Identity =>
  userId == null
    ? { projectId, kind: 'visitor', value: visitorId ?? '' }
    : { projectId, kind: 'user', value: userId }

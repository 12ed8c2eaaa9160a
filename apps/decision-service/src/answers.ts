import type { Decided, Exposure } from '@waymark/contracts'
import type { Choice, CompiledDecision, Subject } from '@waymark/domain'

/** For whom it was decided, and when (RFC 3339). */
export type Asker = Subject & { projectId: string; decidedAt: string }

/** What a decision gives somebody. */
export const decidedBy = (
  { decision }: CompiledDecision,
  { variant, value, reason, ruleId }: Choice,
): Decided => ({
  key: decision.key,
  variant,
  value,
  reason,
  ruleId,
  decisionId: decision.id,
})

/** What it gives somebody who was given something too often. */
export const cappedBy = ({ decision, variants }: CompiledDecision): Decided => {
  const { fallbackVariant } = decision.definition
  const fallback = variants.get(fallbackVariant)
  return {
    key: decision.key,
    variant: fallbackVariant,
    value: fallback?.value ?? null,
    reason: 'CAPPED',
    ruleId: null,
    decisionId: decision.id,
    ...(fallback?.couponPoolId && { coupon: null, couponReason: 'capped' }),
  }
}

/** For a key that the project has no decision for. */
export const unknownKey = (key: string): Decided => ({
  key,
  variant: null,
  value: null,
  reason: 'ERROR',
  ruleId: null,
  decisionId: null,
})

/** That somebody was given it. */
export const exposureOf = (
  { decision }: CompiledDecision,
  { variant, reason, ruleId }: Choice,
  { projectId, subject, identity, profileId, decidedAt }: Asker,
): Exposure => ({
  v: 1,
  projectId,
  decisionId: decision.id,
  decisionKey: decision.key,
  version: decision.version,
  variant,
  reason,
  ruleId,
  subject,
  visitorId: identity.kind === 'visitor' ? identity.value : null,
  userId: identity.kind === 'user' ? identity.value : null,
  profileId,
  exposedAt: decidedAt,
})

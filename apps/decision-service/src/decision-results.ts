import type { Decided } from '@waymark/contracts/http/decide'
import type { Choice, CompiledDecision } from '@waymark/domain/decision'

/** The result of a choice. */
export const resultOf = (
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

/** The result of a subject that has reached the frequency cap. */
export const cappedResult = ({ decision, variants }: CompiledDecision): Decided => {
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

/** The result of an unknown key. */
export const unknownKeyResult = (key: string): Decided => ({
  key,
  variant: null,
  value: null,
  reason: 'ERROR',
  ruleId: null,
  decisionId: null,
})

import type { Decision, DecisionDefinition, DecisionRule } from '@waymark/contracts/decision-definition'
import { rampStepsOf, stateOf } from './rule-state.ts'

/** After how long a decision that gives everyone the same, or that nobody asks for, is stale, in ms. */
export const STALE_AFTER_MS = 30 * 24 * 60 * 60 * 1_000

/** Why a decision may be removed from the code. */
export type Staleness = {
  /**
   * `not_evaluated`: no request asks for it. `one_variant`: everyone gets the same by its rules. `off`: everyone gets the
   * fallback variant because it is off.
   */
  reason: 'not_evaluated' | 'one_variant' | 'off'
  /** What everyone gets. Absent when no request asks for the decision. */
  variant?: string
  /** Since when, at the latest (RFC 3339). */
  since: string
}

/** The times by which a decision is stale. */
type Usage = {
  updatedAt: Date
  /** The last day (UTC) on which a request asked for the decision, in any environment; at first that of its creation. */
  evaluatedOn: Date
}

/**
 * Whether no request has asked for a decision for 30 days, or it has given everyone the same variant in production for as
 * long, at `now` in ms since the epoch. A change of it begins the time anew.
 */
export const stalenessOf = (
  decision: Decision,
  { updatedAt, evaluatedOn }: Usage,
  now: number,
): Staleness | undefined => {
  const { status, definition } = decision
  if (status !== 'active' && status !== 'paused') return undefined
  const unusedSince = Math.max(updatedAt.getTime(), evaluatedOn.getTime())
  if (now - unusedSince >= STALE_AFTER_MS)
    return { reason: 'not_evaluated', since: new Date(unusedSince).toISOString() }
  const same =
    status === 'paused'
      ? { reason: 'off' as const, variant: definition.fallbackVariant, since: 0 }
      : onlyVariantOf(decision, now)
  if (!same) return undefined
  const since = Math.max(same.since, updatedAt.getTime())
  return now - since < STALE_AFTER_MS ? undefined : { ...same, since: new Date(since).toISOString() }
}

/** The variant that everyone gets by the rules, and since when, in ms since the epoch. Undefined when there are several. */
const onlyVariantOf = (decision: Decision, now: number) => {
  const { definition } = decision
  const { rules, fallbackVariant } = definition
  const [first] = rules
  if (!first) return { reason: 'one_variant' as const, variant: fallbackVariant, since: 0 }
  if (isLimited(definition) || !appliesToAll(first) || first.variant === null) return undefined
  const state = stateOf(decision, first.id)
  if (state?.stop) return undefined
  if (!first.ramp)
    return first.rollout === 100
      ? { reason: 'one_variant' as const, variant: first.variant, since: 0 }
      : undefined
  const full = rampStepsOf(first, state).find(({ percentage }) => percentage === 100)
  return full && full.at <= now
    ? { reason: 'one_variant' as const, variant: first.variant, since: full.at }
    : undefined
}

/** Whether some people or times are left out of all rules. */
const isLimited = ({ holdout, frequencyCap, schedule, exclusionGroup }: DecisionDefinition): boolean =>
  holdout > 0 || frequencyCap != null || schedule != null || exclusionGroup != null

const appliesToAll = ({ condition, prerequisites }: DecisionRule): boolean =>
  condition == null && prerequisites.length === 0

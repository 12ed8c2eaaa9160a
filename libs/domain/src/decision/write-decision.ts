import type {
  DecisionDefinition,
  DecisionEnvironment,
  DecisionMetric,
  DecisionParts,
  DecisionRule,
} from '@waymark/contracts/decision-definition'
import { dateOfTime, utcOfTime } from '@waymark/contracts/rfc3339'

/** Generates the values that a new decision lacks. */
type Generated = { newRuleId: () => string; newSalt: () => string }

/**
 * Fills in the defaults of a decision. Rules keep their ids, because buckets depend on them: a rule without an id gets that
 * of the previous rule at its position, unless another rule has it.
 */
export const writeDecision = (
  parts: DecisionParts,
  previous: DecisionDefinition | null,
  { newRuleId, newSalt }: Generated,
): DecisionDefinition => {
  const environments = writeEnvironments(parts, previous, newRuleId)
  return {
    name: parts.name ?? null,
    description: parts.description ?? null,
    ...(parts.owner != null && { owner: parts.owner }),
    ...(parts.tags && parts.tags.length > 0 && { tags: parts.tags }),
    variants: parts.variants.map(({ key, value, couponPoolId }) => ({
      key,
      value,
      couponPoolId: couponPoolId ?? null,
    })),
    fallbackVariant: parts.fallbackVariant,
    rules: writeRules(parts.rules, previous?.rules, newRuleId),
    holdout: parts.holdout ?? 0,
    frequencyCap: parts.frequencyCap ?? null,
    schedule: parts.schedule
      ? { startsAt: utcOfTime(parts.schedule.startsAt), endsAt: utcOfTime(parts.schedule.endsAt) }
      : null,
    exclusionGroup: parts.exclusionGroup ?? null,
    metrics: (parts.metrics ?? []).map(writeMetric),
    ...(Object.keys(environments).length > 0 && { environments }),
    ...(parts.bucketing != null && { bucketing: parts.bucketing }),
    salt: parts.salt ?? previous?.salt ?? newSalt(),
  }
}

const writeRules = (
  rules: DecisionParts['rules'],
  previous: readonly DecisionRule[] = [],
  newRuleId: () => string,
): DecisionRule[] => {
  const named = new Set(rules.map(({ id }) => id))
  const idAt = (index: number): string => {
    const before = previous[index]?.id
    return before === undefined || named.has(before) ? newRuleId() : before
  }
  return rules.map((rule, index) => ({
    id: rule.id ?? idAt(index),
    description: rule.description ?? null,
    condition: rule.condition ?? null,
    prerequisites: rule.prerequisites ?? [],
    rollout: rule.rollout ?? 100,
    ...(rule.ramp && {
      ramp: rule.ramp.map(({ at, percentage, minPeople }) => ({
        at: dateOfTime(at).toISOString(),
        percentage,
        ...(minPeople != null && { minPeople }),
      })),
    }),
    ...(rule.guards && rule.guards.length > 0 && { guards: rule.guards }),
    variant: rule.variant ?? null,
    split: rule.split ?? null,
  }))
}

/** A new environment of a decision is off until it gets the status `active`. */
const writeEnvironments = (
  { environments }: DecisionParts,
  previous: DecisionDefinition | null,
  newRuleId: () => string,
): Record<string, DecisionEnvironment> =>
  Object.fromEntries(
    Object.entries(environments ?? {}).flatMap(([name, entry]) => {
      if (entry === null) return []
      const before = previous?.environments?.[name]
      const rules = entry.rules ? writeRules(entry.rules, before?.rules, newRuleId) : (before?.rules ?? [])
      return [[name, { status: entry.status ?? before?.status ?? 'paused', rules }]]
    }),
  )

const writeMetric = ({
  key,
  selectorId = null,
  eventName = null,
  property = null,
  kind,
  goal,
  guardrail,
}: NonNullable<DecisionParts['metrics']>[number]): DecisionMetric => ({
  key: key ?? `${eventName ?? selectorId}.${kind}`,
  selectorId,
  eventName,
  property,
  kind,
  goal,
  guardrail: guardrail ?? false,
})

/** A possibly unexpected effect of a change. */
export type DecisionWarning = { code: string; ruleId: string | null; message: string }

/** Warns when a change gives people other variants by the same rules. */
export const reshufflesOf = (before: DecisionDefinition, after: DecisionDefinition): DecisionWarning[] => {
  if (before.salt !== after.salt) {
    const message = 'The salt has changed: every person is assigned to a variant anew.'
    return [{ code: 'salt_changed', ruleId: null, message }]
  }
  if (before.bucketing !== after.bucketing) {
    const message = 'The bucketing has changed: every person is assigned to a variant anew.'
    return [{ code: 'bucketing_changed', ruleId: null, message }]
  }
  return [
    ...weightChanges(before.rules, after.rules),
    ...Object.entries(after.environments ?? {}).flatMap(([name, { rules }]) =>
      weightChanges(before.environments?.[name]?.rules ?? [], rules, ` in ${name}`),
    ),
  ]
}

const weightChanges = (
  before: readonly DecisionRule[],
  after: readonly DecisionRule[],
  where = '',
): DecisionWarning[] => {
  const rulesBefore = new Map(before.map((rule) => [rule.id, rule]))
  return after.flatMap((rule) => {
    const old = rulesBefore.get(rule.id)
    // Without weights before and after, the change of the variant is intended.
    const weighted = old?.split || rule.split
    if (!old || !weighted || sharesOf(old) === sharesOf(rule)) return []
    const message = `The weights have changed${where}: some people get another variant than before.`
    return [{ code: 'weights_changed', ruleId: rule.id, message }]
  })
}

const sharesOf = ({ variant, split }: DecisionRule): string => JSON.stringify(split ?? variant)

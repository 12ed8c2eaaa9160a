import type {
  Decision,
  DecisionDefinition,
  DecisionMetric,
  DecisionRule,
} from '@waymark/contracts/decision-definition'
import { MAX_GUARDED_DECISIONS } from '@waymark/contracts/decision-definition'
import type { ValidationItem } from '@waymark/contracts/http/track-result'
import { MAX_PROPERTY_DEPTH, parsePropertyName } from '../analytics/property.ts'
import { isDeeperThan } from '../json/client-json.ts'
import { conditionProblems } from './condition.ts'
import { isGuarded } from './rule-state.ts'

/** Bytes of a decision's JSON. */
export const MAX_DECISION_BYTES = 64 * 1024
const MAX_DEPTH = 30

type Named = Pick<Decision, 'key' | 'definition'>

/**
 * Why a decision may not be saved, given the other decisions of the project that are not archived. A cycle of
 * prerequisites is reported with its decisions.
 */
export const decisionProblems = (decision: Named, others: readonly Named[]): ValidationItem[] => {
  const { definition } = decision
  if (isDeeperThan(definition, MAX_DEPTH))
    return [problem('', 'max_depth', `is nested deeper than ${MAX_DEPTH} levels`)]
  return [
    ...sizeProblems(definition),
    ...variantProblems(definition),
    ...definition.rules.flatMap((rule, index) => ruleProblems(rule, index, definition)),
    ...idProblems(definition),
    ...percentageProblems('holdout', definition.holdout),
    ...scheduleProblems(definition),
    ...metricProblems(definition.metrics ?? []),
    ...guardedProblems(decision, others),
    ...groupProblems(decision, others),
    ...prerequisiteProblems(decision, others),
    ...Object.keys(definition.environments ?? {}).flatMap((name) =>
      environmentProblems(name, decision, others),
    ),
  ]
}

/** The problems of the rules in an environment. Prerequisites are decided by their rules there. */
const environmentProblems = (name: string, decision: Named, others: readonly Named[]): ValidationItem[] => {
  const inThis = ({ key, definition }: Named): Named => ({
    key,
    definition: { ...definition, rules: definition.environments?.[name]?.rules ?? [] },
  })
  const own = inThis(decision)
  return [
    ...own.definition.rules.flatMap((rule, index) => ruleProblems(rule, index, own.definition)),
    ...idProblems(own.definition),
    ...prerequisiteProblems(own, others.map(inThis)),
  ].map((found) => ({ ...found, field: `environments.${name}.${found.field}` }))
}

const problem = (field: string, rule: string, message: string): ValidationItem => ({ field, rule, message })

const sizeProblems = (definition: DecisionDefinition): ValidationItem[] =>
  Buffer.byteLength(JSON.stringify(definition)) > MAX_DECISION_BYTES
    ? [problem('', 'max_size', `is larger than ${MAX_DECISION_BYTES} bytes`)]
    : []

const variantProblems = ({ variants, fallbackVariant }: DecisionDefinition): ValidationItem[] => [
  ...repeatsIn(variants.map(({ key }) => key)).map((index) =>
    problem(`variants.${index}.key`, 'unique', 'is the key of another variant'),
  ),
  ...(variants.some(({ key }) => key === fallbackVariant)
    ? []
    : [problem('fallbackVariant', 'exists', 'is not one of the variants')]),
]

const idProblems = ({ rules }: DecisionDefinition): ValidationItem[] =>
  repeatsIn(rules.map(({ id }) => id)).map((index) =>
    problem(`rules.${index}.id`, 'unique', 'is the id of another rule'),
  )

const repeatsIn = (names: readonly string[]): number[] =>
  names.flatMap((name, index) => (names.indexOf(name) < index ? [index] : []))

const ruleProblems = (
  rule: DecisionRule,
  ruleIndex: number,
  definition: DecisionDefinition,
): ValidationItem[] => {
  const { variants } = definition
  const at = `rules.${ruleIndex}`
  const isVariant = (name: string) => variants.some(({ key }) => key === name)
  const { variant, split, rollout, condition } = rule
  return [
    ...((variant === null) === (split === null)
      ? [problem(at, 'exclusive', 'needs either a variant or a split')]
      : []),
    ...(variant !== null && !isVariant(variant)
      ? [problem(`${at}.variant`, 'exists', 'is not one of the variants')]
      : []),
    ...(split ?? []).flatMap((share, index) =>
      isVariant(share.variant)
        ? []
        : [problem(`${at}.split.${index}.variant`, 'exists', 'is not one of the variants')],
    ),
    ...repeatsIn((split ?? []).map((share) => share.variant)).map((index) =>
      problem(`${at}.split.${index}.variant`, 'unique', 'is in the split already'),
    ),
    ...(split?.every(({ weight }) => weight === 0)
      ? [problem(`${at}.split`, 'minimum', 'needs a weight above 0')]
      : []),
    ...(definition.bucketing === undefined ? [] : weightProblems(`${at}.split`, split ?? [])),
    ...percentageProblems(`${at}.rollout`, rollout),
    ...rampProblems(at, rule),
    ...guardProblems(at, ruleIndex, definition),
    ...(condition === null ? [] : conditionProblems(condition, `${at}.condition`)),
  ]
}

/** The weights of `fractional` are integers. */
const weightProblems = (at: string, split: readonly { weight: number }[]): ValidationItem[] =>
  split.flatMap(({ weight }, index) =>
    Number.isInteger(weight)
      ? []
      : [problem(`${at}.${index}.weight`, 'integer', 'must be an integer with the bucketing of flagd')],
  )

const rampProblems = (
  at: string,
  { ramp = [], rollout, guards, variant }: DecisionRule,
): ValidationItem[] => [
  ...(ramp.length > 0 && rollout !== 100
    ? [problem(`${at}.rollout`, 'exclusive', 'is not used with a ramp: leave it out')]
    : []),
  ...ramp.flatMap(({ at: time, percentage, minPeople }, index) => {
    const step = `${at}.ramp.${index}`
    const before = ramp[index - 1]
    return [
      ...percentageProblems(`${step}.percentage`, percentage),
      ...(before && Date.parse(time) <= Date.parse(before.at)
        ? [problem(`${step}.at`, 'order', 'is not after the time of the step before')]
        : []),
      ...(before && percentage < before.percentage
        ? [problem(`${step}.percentage`, 'order', 'is below the percentage of the step before')]
        : []),
      ...(minPeople === undefined
        ? []
        : evidenceProblems(`${step}.minPeople`, {
            isGuarded: guards !== undefined,
            isLast: index === ramp.length - 1,
            isCompared: percentage > 0 && (percentage < 100 || variant === null),
          })),
    ]
  }),
]

const evidenceProblems = (
  field: string,
  { isGuarded, isLast, isCompared }: { isGuarded: boolean; isLast: boolean; isCompared: boolean },
): ValidationItem[] => [
  ...(isGuarded ? [] : [problem(field, 'exclusive', 'is used with guards: give the rule a guard')]),
  ...(isLast ? [problem(field, 'exclusive', 'is not used in the last step, after which none begins')] : []),
  ...(isCompared
    ? []
    : [problem(field, 'range', 'needs a percentage at which some people get the variant and others do not')]),
]

/** Decisions with guards cost queries every few minutes, so a project has a limited number of them. */
const guardedProblems = (decision: Named, others: readonly Named[]): ValidationItem[] => {
  const guarded = others.filter(({ key, definition }) => key !== decision.key && isGuarded(definition))
  return isGuarded(decision.definition) && guarded.length >= MAX_GUARDED_DECISIONS
    ? [
        problem(
          'rules',
          'quota',
          `have guards, which ${MAX_GUARDED_DECISIONS} decisions of the project have already: remove those of another one`,
        ),
      ]
    : []
}

/** The variant that guards compare the others of a rule with. */
export const controlOf = (rule: DecisionRule, fallbackVariant: string): string => {
  const shares = (rule.split ?? []).filter(({ weight }) => weight > 0).map(({ variant }) => variant)
  return shares.length === 0 || shares.includes(fallbackVariant)
    ? fallbackVariant
    : (shares[0] ?? fallbackVariant)
}

const guardProblems = (at: string, ruleIndex: number, definition: DecisionDefinition): ValidationItem[] => {
  const { rules, metrics = [], fallbackVariant } = definition
  const rule = rules[ruleIndex]
  if (!rule?.guards) return []
  const { guards, ramp, split, variant } = rule
  const shares = (split ?? []).filter(({ weight }) => weight > 0)
  return [
    ...(ramp || split ? [] : [problem(`${at}.guards`, 'exclusive', 'are used with a ramp or a split')]),
    ...(split && shares.length === 1
      ? [problem(`${at}.guards`, 'exclusive', 'need a split with at least two weights above 0')]
      : []),
    ...(variant !== null && ramp ? comparisonProblems(`${at}.guards`, ruleIndex, rules) : []),
    ...(variant !== null && variant === fallbackVariant
      ? [problem(`${at}.guards`, 'exclusive', 'need a variant other than the fallback variant')]
      : []),
    ...repeatsIn(guards.map(({ metric }) => metric)).map((index) =>
      problem(`${at}.guards.${index}.metric`, 'unique', 'has a guard already'),
    ),
    ...guards.flatMap(({ metric, worseThan, action }, index) => {
      const guarded = metrics.find(({ key }) => key === metric)
      const field = `${at}.guards.${index}`
      return [
        ...(guarded
          ? []
          : [problem(`${field}.metric`, 'exists', 'is not the key of a metric of this decision')]),
        ...(guarded?.goal === 'up' && worseThan >= 100
          ? [problem(`${field}.worseThan`, 'maximum', 'must be below 100: the metric cannot fall by more')]
          : []),
        ...(action === 'hold' && !ramp
          ? [problem(`${field}.action`, 'exclusive', 'hold is used with a ramp; use pause or rollback')]
          : []),
      ]
    }),
  ]
}

/** Those outside of a ramp are compared with those in it, so they must be the same kind of people. */
const comparisonProblems = (
  field: string,
  ruleIndex: number,
  rules: readonly DecisionRule[],
): ValidationItem[] => [
  ...(ruleIndex === rules.length - 1
    ? []
    : [
        problem(
          field,
          'order',
          'of a ramp with one variant need the last rule, so that people outside of the ramp get the fallback variant',
        ),
      ]),
  ...(rules.slice(0, ruleIndex).every(({ rollout, ramp }) => rollout === 100 && !ramp)
    ? []
    : [problem(field, 'exclusive', 'of a ramp with one variant need a rollout of 100 in all rules before')]),
]

const percentageProblems = (field: string, percentage: number): ValidationItem[] => {
  const hundredths = percentage * 100
  return Math.abs(hundredths - Math.round(hundredths)) < 1e-6
    ? []
    : [problem(field, 'multipleOf', 'has more than two decimals')]
}

const scheduleProblems = ({ schedule }: DecisionDefinition): ValidationItem[] => {
  const { startsAt, endsAt } = schedule ?? {}
  return startsAt && endsAt && Date.parse(startsAt) >= Date.parse(endsAt)
    ? [problem('schedule.endsAt', 'order', 'is not after startsAt')]
    : []
}

const metricProblems = (metrics: readonly DecisionMetric[]): ValidationItem[] => [
  ...repeatsIn(metrics.map(({ key }) => key)).map((index) =>
    problem(
      `metrics.${index}.key`,
      'unique',
      'is the key of another metric; give each metric a key of its own',
    ),
  ),
  ...metrics.flatMap((metric, index) => {
    const source =
      (metric.selectorId === null) === (metric.eventName === null)
        ? [problem(`metrics.${index}`, 'exclusive', 'needs either a selectorId or an eventName')]
        : []
    const message = propertyProblem(metric)
    return message === null ? source : [...source, problem(`metrics.${index}.property`, 'property', message)]
  }),
]

const propertyProblem = ({ kind, property, selectorId }: DecisionMetric): string | null => {
  if (kind === 'count') return property === null ? null : 'is not used with the kind count'
  if (selectorId !== null) {
    if (property === 'net' && kind !== 'sum') return 'net is used with the kind sum'
    return property === null || CONVERSION_VALUES.includes(property)
      ? null
      : `must be amount, quantity or net with a selectorId`
  }
  if (property === null) return kind === 'mean' ? 'is required with the kind mean' : null
  return parsePropertyName(property)?.source === 'properties'
    ? null
    : `must be properties.<path>, with up to ${MAX_PROPERTY_DEPTH} keys`
}
const CONVERSION_VALUES = ['amount', 'quantity', 'net']

const groupProblems = ({ key, definition }: Named, others: readonly Named[]): ValidationItem[] => {
  const group = definition.exclusionGroup
  if (group === null) return []
  const { name, from, to } = group
  const overlapping = others.find(({ key: other, definition: { exclusionGroup: slice } }) => {
    return other !== key && slice?.name === name && from < slice.to && slice.from < to
  })
  return [
    ...percentageProblems('exclusionGroup.from', from),
    ...percentageProblems('exclusionGroup.to', to),
    ...(from >= to ? [problem('exclusionGroup.to', 'order', 'is not above from')] : []),
    ...(overlapping
      ? [problem('exclusionGroup', 'overlap', `overlaps with the slice of ${overlapping.key}`)]
      : []),
  ]
}

const prerequisiteProblems = (decision: Named, others: readonly Named[]): ValidationItem[] => {
  const named = new Map([...others, decision].map((one) => [one.key, one]))
  const problems = decision.definition.rules.flatMap(({ prerequisites }, ruleIndex) =>
    prerequisites.flatMap(({ decision: key, variants }, index) => {
      const at = `rules.${ruleIndex}.prerequisites.${index}`
      const other = named.get(key)
      if (!other)
        return [problem(`${at}.decision`, 'exists', 'is not a decision of this project, or archived')]
      const known = new Set(other.definition.variants.map((variant) => variant.key))
      return variants
        .filter((variant) => !known.has(variant))
        .map((variant) => problem(`${at}.variants`, 'exists', `has ${variant}, which ${key} has not`))
    }),
  )
  const cycle = cycleThrough(decision.key, named)
  if (!cycle) return problems
  return [...problems, problem('rules', 'cycle', `depend on each other in a circle: ${cycle.join(' → ')}`)]
}

/** A cycle of prerequisites from a decision to itself, if there is one. */
const cycleThrough = (start: string, named: ReadonlyMap<string, Named>): string[] | undefined => {
  const seen = new Set<string>()
  const search = (way: string[]): string[] | undefined => {
    const rules = named.get(way.at(-1) ?? '')?.definition.rules ?? []
    for (const next of rules.flatMap(({ prerequisites }) => prerequisites.map(({ decision }) => decision))) {
      if (next === start) return [...way, next]
      if (seen.has(next)) continue
      seen.add(next)
      const found = search([...way, next])
      if (found) return found
    }
    return undefined
  }
  return search([start])
}

import type { Decision } from '../api/types.ts'
import { parseEnteredJson } from '../ui/parse-entered-json.ts'

/** The state of the decision form: values and conditions are JSON texts. */
export type Draft = {
  key: string
  name: string
  description: string
  owner: string
  /** Separated by commas. */
  tags: string
  holdout: number
  fallbackVariant: string
  variants: { id: string; key: string; value: string; couponPoolId: string }[]
  rules: {
    id: string
    description: string
    condition: string
    rollout: number
    /** The steps of a ramp, which replaces the rollout. Times in RFC 3339, empty while none is typed. */
    ramp: {
      id: string
      at: string
      percentage: number
      /** People of each variant before the next step; 0 for none. */
      minPeople: number
    }[]
    guards: { id: string; metric: string; worseThan: number; action: GuardAction }[]
    /** A variant's key, or empty for a split by `weights`. */
    variant: string
    /** By the ids of variants; 1 for others. */
    weights: Record<string, number>
    /** The ids of the variants of the stored split. Their order decides who gets which. */
    order: string[]
    kept: object
  }[]
  /** Empty texts mean none; `selectorId` is empty for a metric of events. */
  metrics: {
    id: string
    key: string
    selectorId: string
    eventName: string
    property: string
    kind: 'count' | 'mean' | 'sum'
    goal: 'up' | 'down'
    guardrail: boolean
  }[]
}

export type GuardAction = 'pause' | 'rollback' | 'hold'

let lastId = 0
/** An id for a new part of the form. */
export const newId = (): string => {
  lastId += 1
  return `new-${lastId}`
}

export const emptyDraft = (): Draft => ({
  key: '',
  name: '',
  description: '',
  owner: '',
  tags: '',
  holdout: 0,
  fallbackVariant: 'off',
  variants: [
    { id: newId(), key: 'off', value: 'false', couponPoolId: '' },
    { id: newId(), key: 'on', value: 'true', couponPoolId: '' },
  ],
  rules: [newRule()],
  metrics: [],
})

export const newRule = (): Draft['rules'][number] => ({
  id: newId(),
  description: '',
  condition: '',
  rollout: 100,
  ramp: [],
  guards: [],
  variant: '',
  weights: {},
  order: [],
  kept: {},
})

/** The next step of a ramp: at the time `now` in ms, or twice the percentage a day after the last step. */
export const newStep = (ramp: Draft['rules'][number]['ramp'], now: number) => {
  const last = ramp.at(-1)
  const at = last?.at ? Date.parse(last.at) + DAY_MS : now
  const percentage = last ? Math.min(100, last.percentage * 2) : 10
  return { id: newId(), at: new Date(at).toISOString(), percentage, minPeople: 0 }
}
const DAY_MS = 24 * 60 * 60 * 1_000

/** The next guard of a rule, of the first metric without one. */
export const newGuard = ({ ramp, guards }: Draft['rules'][number], metrics: Draft['metrics']) => {
  const keys = metrics.map(metricKeyOf)
  return {
    id: newId(),
    metric: keys.find((key) => guards.every(({ metric }) => metric !== key)) ?? keys[0] ?? '',
    worseThan: 10,
    action: ramp.length > 0 ? ('rollback' as const) : ('pause' as const),
  }
}

/** The key of a metric, as the API makes it when none is given. */
export const metricKeyOf = ({ key, eventName, selectorId, kind }: Draft['metrics'][number]): string =>
  key || `${selectorId || eventName}.${kind}`

export const newMetric = (): Draft['metrics'][number] => ({
  id: newId(),
  key: '',
  selectorId: '',
  eventName: '',
  property: '',
  kind: 'count',
  goal: 'up',
  guardrail: false,
})

export const draftOf = ({ variants: stored, ...decision }: Decision): Draft => {
  const variants = stored.map((variant) => ({
    id: newId(),
    key: variant.key,
    value: JSON.stringify(variant.value),
    couponPoolId: variant.couponPoolId ?? '',
  }))
  return { ...partsOf(decision, variants), variants }
}

const partsOf = (
  {
    key,
    name,
    description,
    owner,
    tags,
    holdout,
    fallbackVariant,
    rules,
    metrics,
  }: Omit<Decision, 'variants'>,
  variants: Draft['variants'],
): Omit<Draft, 'variants'> => ({
  key,
  name: name ?? '',
  description: description ?? '',
  owner: owner ?? '',
  tags: (tags ?? []).join(', '),
  holdout: holdout ?? 0,
  fallbackVariant,
  rules: rules.map(
    ({ id, description, condition, rollout, ramp, guards, variant, split, prerequisites }) => ({
      id: newId(),
      description: description ?? '',
      condition: condition == null ? '' : JSON.stringify(condition),
      rollout: rollout ?? 100,
      ramp: (ramp ?? []).map(({ at, percentage, minPeople }) => ({
        id: newId(),
        at,
        percentage,
        minPeople: minPeople ?? 0,
      })),
      guards: (guards ?? []).map((guard) => ({ id: newId(), ...guard })),
      variant: variant ?? '',
      ...splitFields(split ?? [], variants),
      // Fields that the form does not show are kept.
      kept: { ...(id && { id }), ...(prerequisites && { prerequisites }) },
    }),
  ),
  metrics: (metrics ?? []).map(({ kind, goal, ...metric }) => ({
    id: newId(),
    key: metric.key ?? '',
    selectorId: metric.selectorId ?? '',
    eventName: metric.eventName ?? '',
    property: metric.property ?? '',
    kind,
    goal,
    guardrail: metric.guardrail ?? false,
  })),
})

/**
 * The body of the request.
 * @throws Error when a value or a condition is not JSON
 */
export const bodyOf = ({
  name,
  description,
  owner,
  tags,
  holdout,
  fallbackVariant,
  variants,
  rules,
  metrics,
}: Draft) => ({
  name: name || null,
  description: description || null,
  owner: owner.trim() || null,
  tags: tagsIn(tags),
  holdout: holdout || null,
  fallbackVariant,
  variants: variants.map(({ key, value, couponPoolId }) => ({
    key,
    value: parseEnteredJson(value, `The value of ${key}`),
    ...(couponPoolId && { couponPoolId }),
  })),
  rules: rules.map(
    ({ kept, description, condition, rollout, ramp, guards, variant, weights, order }, index) => ({
      ...kept,
      ...(description && { description }),
      ...(condition.trim() && {
        condition: parseEnteredJson(condition, `The condition of rule ${index + 1}`),
      }),
      ...(ramp.length > 0
        ? {
            ramp: ramp.map(({ at, percentage, minPeople }) => ({
              at,
              percentage,
              ...(minPeople > 0 && { minPeople }),
            })),
          }
        : { rollout }),
      ...(guards.length > 0 && {
        guards: guards.map(({ metric, worseThan, action }) => ({ metric, worseThan, action })),
      }),
      ...(variant ? { variant } : { split: splitOf({ weights, order }, variants) }),
    }),
  ),
  metrics: metrics.map(({ key, selectorId, eventName, property, kind, goal, guardrail }) => ({
    ...(key && { key }),
    ...(selectorId ? { selectorId } : { eventName }),
    ...(property && kind !== 'count' && { property }),
    kind,
    goal,
    guardrail,
  })),
})

const tagsIn = (text: string): string[] => [
  ...new Set(
    text
      .split(',')
      .map((tag) => tag.trim())
      .filter((tag) => tag !== ''),
  ),
]

type Share = { variant: string; weight: number }
type SplitFields = Pick<Draft['rules'][number], 'weights' | 'order'>

/** The fields of a stored split. Variants that it does not have are shown with the weight 0. */
const splitFields = (split: readonly Share[], variants: Draft['variants']): SplitFields => {
  const shares = split.map(({ variant, weight }) => ({
    id: variants.find(({ key }) => key === variant)?.id ?? variant,
    weight,
  }))
  const absent = split.length === 0 ? [] : variants.map(({ id }) => [id, 0] as const)
  return {
    weights: Object.fromEntries([...absent, ...shares.map(({ id, weight }) => [id, weight] as const)]),
    order: shares.map(({ id }) => id),
  }
}

/** The split of a rule, with the variants of the stored one in their order, so that people keep theirs. */
const splitOf = ({ weights, order }: SplitFields, variants: Draft['variants']): Share[] => {
  const placed = order.flatMap((id) => variants.find((variant) => variant.id === id) ?? [])
  const added = variants.filter(({ id }) => !order.includes(id) && (order.length === 0 || weights[id] !== 0))
  return [...placed, ...added].map(({ id, key }) => ({ variant: key, weight: weights[id] ?? 1 }))
}

/** A decision with the rules of an environment. */
export const asIn = (decision: Decision, environment: string): Decision =>
  environment === 'production'
    ? decision
    : { ...decision, rules: decision.environments?.[environment]?.rules ?? [] }

/** The status of a decision in an environment. Without an entry it is off, and a draft stays one. */
export const statusIn = ({ status, environments }: Decision, environment: string): Decision['status'] => {
  if (environment === 'production' || status === 'archived') return status
  return environments?.[environment]?.status ?? (status === 'active' ? 'paused' : status)
}

/** The condition of a rule, limited to a segment. @throws Error when the condition is not JSON */
export const withSegment = (condition: string, key: string): string => {
  const segment = { segment: key }
  const known: unknown = condition.trim() ? parseEnteredJson(condition, 'The condition') : null
  return JSON.stringify(known === null ? segment : { and: [known, segment] })
}

/** The form of a decision: its draft, and the stored version that the draft was made from. */
export type Edit = { draft: Draft; original: Draft; version: number; contents: string }

const contentsOf = ({
  name,
  description,
  owner,
  tags,
  holdout,
  fallbackVariant,
  variants,
  rules,
  metrics,
}: Decision): string =>
  JSON.stringify({
    name,
    description,
    owner,
    tags,
    holdout,
    fallbackVariant,
    variants,
    rules,
    metrics,
  })

export const editOf = (decision?: Decision): Edit => {
  const draft = decision ? draftOf(decision) : emptyDraft()
  return {
    draft,
    original: draft,
    version: decision?.version ?? 0,
    contents: decision ? contentsOf(decision) : '',
  }
}

/**
 * The form after its decision was read again. A new status keeps what was typed. So do new contents; the API then
 * refuses to save, because the form was made from an older version.
 */
export const followDecision = (edit: Edit, decision: Decision): Edit => {
  if (decision.version <= edit.version) return edit
  if (contentsOf(decision) === edit.contents) return { ...edit, version: decision.version }
  return edit.draft === edit.original ? editOf(decision) : edit
}

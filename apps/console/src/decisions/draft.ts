import type { Decision } from '../api/types.ts'
import { parseJson } from '../ui/parse-json.ts'

/** The state of the decision form: values and conditions are JSON texts. */
export type Draft = {
  key: string
  name: string
  holdout: number
  fallbackVariant: string
  variants: { id: string; key: string; value: string; couponPoolId: string }[]
  rules: {
    id: string
    description: string
    condition: string
    rollout: number
    /** A variant's key, or empty for a split by `weights`. */
    variant: string
    weights: Record<string, number>
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

let lastId = 0
/** An id for a new part of the form. */
export const newId = (): string => {
  lastId += 1
  return `new-${lastId}`
}

export const emptyDraft = (): Draft => ({
  key: '',
  name: '',
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
  variant: '',
  weights: {},
  kept: {},
})

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

export const draftOf = ({
  key,
  name,
  holdout,
  fallbackVariant,
  variants,
  rules,
  metrics,
}: Decision): Draft => ({
  key,
  name: name ?? '',
  holdout: holdout ?? 0,
  fallbackVariant,
  variants: variants.map((variant) => ({
    id: newId(),
    key: variant.key,
    value: JSON.stringify(variant.value),
    couponPoolId: variant.couponPoolId ?? '',
  })),
  rules: rules.map(({ id, description, condition, rollout, variant, split, prerequisites }) => ({
    id: newId(),
    description: description ?? '',
    condition: condition == null ? '' : JSON.stringify(condition),
    rollout: rollout ?? 100,
    variant: variant ?? '',
    weights: Object.fromEntries((split ?? []).map((part) => [part.variant, part.weight])),
    // Fields that the form does not show are kept.
    kept: { ...(id && { id }), ...(prerequisites && { prerequisites }) },
  })),
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
export const bodyOf = ({ name, holdout, fallbackVariant, variants, rules, metrics }: Draft) => ({
  name: name || null,
  holdout: holdout || null,
  fallbackVariant,
  variants: variants.map(({ key, value, couponPoolId }) => ({
    key,
    value: parseJson(value, `The value of ${key}`),
    ...(couponPoolId && { couponPoolId }),
  })),
  rules: rules.map(({ kept, description, condition, rollout, variant, weights }, index) => ({
    ...kept,
    ...(description && { description }),
    ...(condition.trim() && { condition: parseJson(condition, `The condition of rule ${index + 1}`) }),
    rollout,
    ...(variant
      ? { variant }
      : { split: variants.map(({ key }) => ({ variant: key, weight: weights[key] ?? 1 })) }),
  })),
  metrics: metrics.map(({ key, selectorId, eventName, property, kind, goal, guardrail }) => ({
    ...(key && { key }),
    ...(selectorId ? { selectorId } : { eventName }),
    ...(property && kind !== 'count' && { property }),
    kind,
    goal,
    guardrail,
  })),
})

/** The form of a decision: its draft, and the stored version that the draft was made from. */
export type Edit = { draft: Draft; original: Draft; version: number; contents: string }

const contentsOf = ({ name, holdout, fallbackVariant, variants, rules, metrics }: Decision): string =>
  JSON.stringify({ name, holdout, fallbackVariant, variants, rules, metrics })

export const editOf = (decision?: Decision): Edit => {
  const draft = decision ? draftOf(decision) : emptyDraft()
  return {
    ...{ draft, original: draft },
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

import { describe, expect, it } from 'vitest'
import type { Decision } from '../api/types.ts'
import {
  asIn,
  bodyOf,
  draftOf,
  editOf,
  emptyDraft,
  followDecision,
  newStep,
  statusIn,
  withSegment,
} from './draft.ts'

describe('the form of a decision', () => {
  const body = {
    name: 'Sale',
    description: 'In winter',
    owner: 'Team shop',
    tags: ['sale', 'shop'],
    holdout: 5,
    fallbackVariant: 'off',
    variants: [
      { key: 'off', value: null },
      { key: 'on', value: { colour: 'red' }, couponPoolId: '0199' },
    ],
    rules: [
      { id: 'r1', condition: { '==': [{ var: 'traits.plan' }, 'pro'] }, rollout: 20, variant: 'on' },
      {
        id: 'r2',
        description: 'others',
        ramp: [
          { at: '2026-12-01T09:00:30.000Z', percentage: 10, minPeople: 500 },
          { at: '2026-12-02T09:00:00.000Z', percentage: 100 },
        ],
        guards: [{ metric: 'bought', worseThan: 10, action: 'hold' }],
        split: [
          { variant: 'off', weight: 3 },
          { variant: 'on', weight: 1 },
        ],
      },
    ],
    metrics: [
      { key: 'bought', eventName: 'order', kind: 'count', goal: 'up', guardrail: false },
      { key: 'refunds', selectorId: '0199', property: 'amount', kind: 'sum', goal: 'down', guardrail: true },
    ],
  }

  const decision = {
    ...body,
    key: 'sale',
    id: '1',
    status: 'draft',
    version: 1,
    salt: 's',
    createdAt: '',
    updatedAt: '',
  } as never as Decision

  it('is unchanged after a round trip through the form', () => {
    expect(bodyOf(draftOf(decision))).toEqual(body)
  })

  describe('with a split that has its own order and not all variants', () => {
    const split = [
      { variant: 'on', weight: 2.5 },
      { variant: 'off', weight: 0 },
    ]
    const variants = [...body.variants, { key: 'other', value: 1 }]
    const stored = { ...decision, variants, rules: [{ id: 'r', rollout: 100, split }] } as never as Decision
    const draft = draftOf(stored)
    const splitIn = (changed: Partial<typeof draft>) => {
      const [rule] = bodyOf({ ...draft, ...changed }).rules
      return rule && 'split' in rule ? rule.split : undefined
    }

    it('keeps who gets which variant', () => {
      expect(splitIn({ name: 'Winter sale' })).toEqual(split)
    })

    it('adds a variant when it gets a weight', () => {
      const [rule] = draft.rules
      const id = draft.variants[2]?.id ?? ''
      expect(rule?.weights[id]).toBe(0)
      const rules = draft.rules.map((one) => ({ ...one, weights: { ...one.weights, [id]: 4 } }))
      expect(splitIn({ rules })).toEqual([...split, { variant: 'other', weight: 4 }])
    })

    it('keeps the place and the weight of a variant with another key, and drops one that is removed', () => {
      const renamed = draft.variants.map((one) => (one.key === 'on' ? { ...one, key: 'shown' } : one))
      expect(splitIn({ variants: renamed })).toEqual([{ variant: 'shown', weight: 2.5 }, split[1]])
      expect(splitIn({ variants: draft.variants.filter(({ key }) => key !== 'on') })).toEqual([split[1]])
    })
  })

  describe('when the decision is read again', () => {
    const edit = editOf(decision)
    const typed = { ...edit, draft: { ...edit.draft, name: 'Winter sale' } }
    const activated = { ...decision, status: 'active', version: 2 } as Decision
    const changed = { ...decision, name: 'Summer sale', version: 2 }

    it('keeps what was typed, and saves over a version with the same contents', () => {
      const next = followDecision(typed, activated)
      expect([next.draft.name, next.version]).toEqual(['Winter sale', 2])
    })

    it('shows new contents if nothing was typed', () => {
      const next = followDecision(edit, changed)
      expect([next.draft.name, next.version]).toEqual(['Summer sale', 2])
    })

    it('keeps what was typed with its old version, which the API refuses, over new contents', () => {
      const next = followDecision(typed, changed)
      expect([next.draft.name, next.version]).toEqual(['Winter sale', 1])
    })

    it('does not follow an older version, which a cache may still have', () => {
      const saved = editOf(changed)
      expect(followDecision(saved, decision)).toBe(saved)
    })
  })

  it('has the status and rules of an environment', () => {
    const staging = { status: 'active' as const, rules: [{ id: 'tried', variant: 'on' }] }
    const active = { ...decision, status: 'active' as const, environments: { staging } }
    expect(asIn(active, 'production').rules).toEqual(decision.rules)
    expect(asIn(active, 'staging').rules).toEqual(staging.rules)
    expect(asIn(active, 'qa').rules).toEqual([])
    expect(['production', 'staging', 'qa'].map((environment) => statusIn(active, environment))).toEqual([
      'active',
      'active',
      'paused',
    ])
    expect(statusIn({ ...active, status: 'archived' }, 'staging')).toBe('archived')
    expect(statusIn(decision, 'staging')).toBe('draft')
  })

  it('proposes steps of a ramp that double each day', () => {
    const now = Date.parse('2026-12-01T09:00:00.000Z')
    const first = newStep([], now)
    expect(first).toMatchObject({ at: '2026-12-01T09:00:00.000Z', percentage: 10 })
    const second = newStep([first], now)
    expect(second).toMatchObject({ at: '2026-12-02T09:00:00.000Z', percentage: 20 })
    expect(newStep([{ ...second, percentage: 60 }], now).percentage).toBe(100)
    expect(newStep([{ ...second, at: '' }], now).at).toBe(first.at)
  })

  it('starts with a split by equal weights', () => {
    expect(bodyOf(emptyDraft()).rules).toEqual([
      {
        rollout: 100,
        split: [
          { variant: 'off', weight: 1 },
          { variant: 'on', weight: 1 },
        ],
      },
    ])
  })

  it('names the value that is not JSON', () => {
    const draft = emptyDraft()
    const variants = draft.variants.map((variant) => ({ ...variant, value: 'yes' }))
    expect(() => bodyOf({ ...draft, variants })).toThrow('The value of off is not valid JSON')
  })
})

describe('a condition that is limited to a segment', () => {
  it('is the segment, or what was there and the segment', () => {
    expect(withSegment(' ', 'pros')).toBe('{"segment":"pros"}')
    expect(withSegment('null', 'pros')).toBe('{"segment":"pros"}')
    expect(withSegment('{"!": [{"var": "context.a"}]}', 'pros')).toBe(
      '{"and":[{"!":[{"var":"context.a"}]},{"segment":"pros"}]}',
    )
    expect(() => withSegment('{', 'pros')).toThrow('The condition')
  })
})

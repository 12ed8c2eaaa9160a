import { describe, expect, it } from 'vitest'
import type { Decision } from '../api/types.ts'
import { bodyOf, draftOf, editOf, emptyDraft, followDecision } from './draft.ts'

describe('the form of a decision', () => {
  const body = {
    name: 'Sale',
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
        rollout: 100,
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

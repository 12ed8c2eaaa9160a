import { describe, expect, it } from 'vitest'
import { bodyOf, draftOf, emptyDraft } from './draft.ts'

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

  it('is unchanged after a round trip through the form', () => {
    const decision = {
      ...body,
      key: 'sale',
      id: '1',
      status: 'draft',
      version: 1,
      salt: 's',
      createdAt: '',
      updatedAt: '',
    }
    expect(bodyOf(draftOf(decision as never))).toEqual(body)
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

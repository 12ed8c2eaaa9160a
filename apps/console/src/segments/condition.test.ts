import { describe, expect, it } from 'vitest'
import { completeCondition, MAX_DAYS, wordsOf } from './condition.ts'

const isPro = { property: 'traits.plan', op: 'eq' as const, value: 'pro' }
const orders = { eventName: 'order', days: 30, op: 'gte' as const, value: 3 }

describe('the condition of a segment', () => {
  it('is complete when each part of it is', () => {
    expect(completeCondition({ filters: [isPro], counts: [orders] })).toEqual({
      match: 'all',
      filters: [isPro],
      counts: [orders],
    })
    expect(
      completeCondition({ match: 'any', filters: [{ property: 'traits.a', op: 'exists' }] }),
    ).toMatchObject({
      match: 'any',
    })
    const incomplete = [
      {},
      { filters: [{ ...isPro, property: '' }] },
      { filters: [isPro, { property: 'traits.a', op: 'eq' as const }] },
      { filters: [{ ...isPro, op: 'in' as const, value: [] }] },
      { counts: [{ ...orders, eventName: '' }] },
      { counts: [{ ...orders, days: MAX_DAYS + 1 }] },
      { counts: [{ ...orders, days: 0 }] },
      { counts: [{ ...orders, value: 1.5 }] },
    ]
    expect(incomplete.map(completeCondition)).toEqual(incomplete.map(() => undefined))
  })

  it('is said in words', () => {
    expect(
      wordsOf({ filters: [isPro, { property: 'traits.a', op: 'not_exists' }], counts: [orders] }),
    ).toEqual(['traits.plan is pro', 'traits.a is not set', 'order at least 3 times in 30 days'])
    expect(wordsOf({ counts: [{ ...orders, days: 1 }] })).toEqual(['order at least 3 times today'])
  })
})

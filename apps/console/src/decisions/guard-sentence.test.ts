import { describe, expect, it } from 'vitest'
import { emptyDraft, newGuard, newMetric, newRule } from './draft.ts'
import { guardSentence, stopSentence } from './guard-sentence.ts'

const metrics = [
  { ...newMetric(), key: 'Ordered', eventName: 'order' },
  { ...newMetric(), eventName: 'error', goal: 'down' as const },
]
const draft = { ...emptyDraft(), metrics }
const guard = { id: '1', metric: 'Ordered', worseThan: 10, action: 'rollback' as const }

describe('the sentence of a guard', () => {
  it('says what happens to a ramp', () => {
    const rule = { ...newRule(), variant: 'on' }
    expect(guardSentence(guard, rule, draft)).toBe(
      'When Ordered is certainly more than 10% lower with on than with off, nobody gets on by this rule any more, until a person resumes it with a reason.',
    )
    expect(
      guardSentence({ ...guard, metric: 'error.count', worseThan: 0, action: 'hold' }, rule, draft),
    ).toBe(
      'When error.count is certainly higher with on than with off, the ramp stays at the percentage that it has reached, until a person resumes it with a reason.',
    )
    expect(guardSentence({ ...guard, metric: 'gone' }, rule, draft)).toBe('Choose one of the metrics below.')
  })

  it('compares the variants of a split with the fallback, or else with the first', () => {
    const pause = { ...guard, action: 'pause' as const }
    expect(guardSentence(pause, newRule(), draft)).toContain(
      'with on than with off, the decision is turned off',
    )
    const [off, on] = draft.variants
    const third = { id: 'c', key: 'other', value: '1', couponPoolId: '' }
    const variants = [off, on, third].flatMap((one) => one ?? [])
    const weights = { [off?.id ?? '']: 0 }
    expect(guardSentence(pause, { ...newRule(), weights }, { ...draft, variants })).toContain(
      'with other than with on,',
    )
  })

  it('says what was found', () => {
    const stop = {
      metric: 'Ordered',
      worseThan: 10,
      variant: 'on',
      control: 'off',
      people: { variant: 600, control: 1_200 },
      lift: -0.8,
      interval: [-0.9, -0.7] as [number, number],
    }
    expect(stopSentence(stop)).toBe(
      'Ordered was more than 10% worse with on (600 people) than with off (1,200 people). The change is -80%, between -90% and -70%.',
    )
    expect(stopSentence({ ...stop, lift: null, interval: null })).toContain('It did not occur with off.')
  })

  it('is about the next metric without a guard', () => {
    const rule = { ...newRule(), guards: [guard] }
    expect(newGuard(rule, metrics)).toMatchObject({ metric: 'error.count', action: 'pause' })
  })
})

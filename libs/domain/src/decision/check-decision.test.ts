import {
  type DecisionParts,
  MAX_GUARDED_DECISIONS,
  MAX_RAMP_STEPS,
} from '@waymark/contracts/decision-definition'
import { createDecision } from '@waymark/contracts/http/decisions'
import { describe, expect, it } from 'vitest'
import { decisionProblems, MAX_DECISION_BYTES } from './check-decision.ts'
import { reshufflesOf, writeDecision } from './write-decision.ts'

let made = 0
const generated = { newRuleId: () => `made-${++made}`, newSalt: () => 'made-salt' }
const parts = (change: Partial<DecisionParts> = {}): DecisionParts => ({
  variants: [
    { key: 'a', value: 1 },
    { key: 'b', value: 2 },
  ],
  fallbackVariant: 'a',
  rules: [{ variant: 'b' }],
  ...change,
})
const write = (change: Partial<DecisionParts> = {}) => writeDecision(parts(change), null, generated)
const named = (key: string, change: Partial<DecisionParts> = {}) => ({ key, definition: write(change) })

/** The invalid fields and their messages. */
const problemsOf = (
  change: Partial<DecisionParts>,
  others: ReturnType<typeof named>[] = [],
): Record<string, string> =>
  Object.fromEntries(
    decisionProblems(named('d', change), others).map(({ field, message }) => [field, message]),
  )
const needs = (decision: string, variant = 'b') => ({
  rules: [{ variant: 'b', prerequisites: [{ decision, variants: [variant] }] }],
})

const SELECTOR = '01989b1f-0000-7000-8000-000000000001'
const METRICS: DecisionParts['metrics'] = [
  { eventName: 'order placed', kind: 'count', goal: 'up' },
  { eventName: 'order placed', kind: 'sum', goal: 'up' },
  { eventName: 'order placed', kind: 'mean', goal: 'up', property: 'properties.total.net' },
  { selectorId: SELECTOR, kind: 'count', goal: 'up' },
  { selectorId: SELECTOR, kind: 'sum', goal: 'up' },
  { selectorId: SELECTOR, kind: 'mean', goal: 'down', property: 'quantity', guardrail: true },
  { key: 'other', eventName: 'order placed', kind: 'count', goal: 'down' },
]

describe('a decision may be saved', () => {
  it.each<[string, Partial<DecisionParts>]>([
    ['as it is', {}],
    ['without rules', { rules: [] }],
    ['with a condition', { rules: [{ variant: 'b', condition: { '==': [{ var: 'traits.x' }, 1] } }] }],
    ['with a count', { rules: [{ variant: 'b', condition: { '>': [{ var: 'counts.order.90d' }, 1] } }] }],
    [
      'with a count of an event whose name has dots',
      { rules: [{ variant: 'b', condition: { '>': [{ val: ['counts', 'order.placed', '7d'] }, 1] } }] },
    ],
    [
      'with a look through a list',
      {
        rules: [
          { variant: 'b', condition: { some: [{ var: 'traits.tags' }, { '==': [{ var: '' }, 'x'] }] } },
        ],
      },
    ],
    ['with metrics of each kind', { metrics: METRICS }],
    ['with a percentage of two decimals', { holdout: 0.07, rules: [{ variant: 'b', rollout: 33.33 }] }],
  ])('%s', (_what, change) => {
    expect(problemsOf(change)).toEqual({})
  })
})

describe('a ramp', () => {
  const step = (day: number, percentage: number) => ({ at: `2026-11-0${day}T10:00:00+01:00`, percentage })
  const withRamp = (ramp: ReturnType<typeof step>[], more: object = {}) => ({
    rules: [{ variant: 'b', ramp, ...more }],
  })

  it('is stored in UTC, with a rollout of 100', () => {
    expect(write(withRamp([step(1, 5), step(2, 5), step(3, 33.33)])).rules).toMatchObject([
      { rollout: 100, ramp: [{ at: '2026-11-01T09:00:00.000Z' }, {}, { percentage: 33.33 }] },
    ])
    expect(problemsOf(withRamp([step(1, 5), step(2, 5), step(3, 33.33)]))).toEqual({})
    expect(write().rules[0]).not.toHaveProperty('ramp')
  })

  it.each([
    ['at the time of the step before', withRamp([step(1, 5), step(1, 6)]), 'rules.0.ramp.1.at', 'after'],
    ['before that', withRamp([step(2, 5), step(1, 6)]), 'rules.0.ramp.1.at', 'after'],
    ['that falls', withRamp([step(1, 5), step(2, 4.99)]), 'rules.0.ramp.1.percentage', 'below'],
    ['with thousandths', withRamp([step(1, 5.001)]), 'rules.0.ramp.0.percentage', 'two decimals'],
    ['beside a rollout', withRamp([step(1, 5)], { rollout: 99.99 }), 'rules.0.rollout', 'leave it out'],
  ])('%s is refused', (_what, change, field, message) => {
    expect(problemsOf(change)).toEqual({ [field]: expect.stringContaining(message) })
  })

  it(`has up to ${MAX_RAMP_STEPS} steps`, () => {
    const fits = (steps: number): boolean => {
      const ramp = Array.from({ length: steps }, (_, index) => ({
        at: new Date(index).toISOString(),
        percentage: index,
      }))
      return createDecision.body?.validator.fits({ key: 'd', ...parts(withRamp(ramp)) }) ?? false
    }
    expect([0, 1, MAX_RAMP_STEPS, MAX_RAMP_STEPS + 1].map(fits)).toEqual([false, true, true, false])
  })
})

describe('a metric', () => {
  it('is named after what it measures, and is no guardrail', () => {
    expect(write({ metrics: METRICS }).metrics?.map(({ key }) => key)).toEqual([
      'order placed.count',
      'order placed.sum',
      'order placed.mean',
      `${SELECTOR}.count`,
      `${SELECTOR}.sum`,
      `${SELECTOR}.mean`,
      'other',
    ])
    expect(write({ metrics: METRICS }).metrics?.[0]).toMatchObject({ guardrail: false, property: null })
    expect(write().metrics).toEqual([])
  })

  const event = { eventName: 'order', goal: 'up' } as const
  const selector = { selectorId: SELECTOR, goal: 'up' } as const
  it.each<[string, NonNullable<DecisionParts['metrics']>, string, string]>([
    ['of nothing', [{ kind: 'count', goal: 'up', key: 'k' }], 'metrics.0', 'either a selectorId or'],
    ['of both', [{ ...event, selectorId: SELECTOR, kind: 'count' }], 'metrics.0', 'either a selectorId or'],
    [
      'with a used key',
      [
        { ...event, kind: 'sum' },
        { ...event, kind: 'sum' },
      ],
      'metrics.1.key',
      'key of another',
    ],
    [
      'of a share with a property',
      [{ ...event, kind: 'count', property: 'properties.a' }],
      'metrics.0.property',
      'not used',
    ],
    ['of a mean of nothing', [{ ...event, kind: 'mean' }], 'metrics.0.property', 'required'],
    [
      'of a trait',
      [{ ...event, kind: 'sum', property: 'traits.a' }],
      'metrics.0.property',
      'properties.<path>',
    ],
    [
      'of 6 keys',
      [{ ...event, kind: 'sum', property: 'properties.a.b.c.d.e.f' }],
      'metrics.0.property',
      'up to 5 keys',
    ],
    [
      'of another value',
      [{ ...selector, kind: 'sum', property: 'properties.a' }],
      'metrics.0.property',
      'amount, quantity or net',
    ],
  ])('%s is refused', (_what, metrics, field, message) => {
    expect(problemsOf({ metrics })).toEqual({ [field]: expect.stringContaining(message) })
  })

  it('of net amounts is a sum', () => {
    expect(problemsOf({ metrics: [{ ...selector, kind: 'sum', property: 'net' }] })).toEqual({})
    expect(problemsOf({ metrics: [{ ...selector, kind: 'mean', property: 'net' }] })).toEqual({
      'metrics.0.property': 'net is used with the kind sum',
    })
  })

  it('of 5 keys is allowed', () => {
    expect(problemsOf({ metrics: [{ ...event, kind: 'sum', property: 'properties.a.b.c.d.e' }] })).toEqual({})
  })
})

describe('guards', () => {
  type GuardParts = NonNullable<NonNullable<DecisionParts['rules'][number]['guards']>[number]>
  const metrics: DecisionParts['metrics'] = [
    { key: 'Ordered', eventName: 'order', kind: 'count', goal: 'up' },
    { key: 'Errors', eventName: 'error', kind: 'sum', goal: 'down' },
  ]
  const ramp = [
    { at: '2026-01-01T00:00:00Z', percentage: 5 },
    { at: '2026-01-02T00:00:00Z', percentage: 50 },
  ]
  const guard: GuardParts = { metric: 'Ordered', worseThan: 10, action: 'rollback' }
  const rule = { variant: 'b', ramp, guards: [guard] }
  const split = [
    { variant: 'a', weight: 1 },
    { variant: 'b', weight: 1 },
  ]
  const guarded = (change: Partial<typeof rule> & object) => ({ metrics, rules: [{ ...rule, ...change }] })

  it('are allowed with a ramp and with a split', () => {
    expect(problemsOf(guarded({}))).toEqual({})
    expect(problemsOf({ metrics, rules: [{ split, guards: [{ ...guard, action: 'pause' }] }] })).toEqual({})
    expect(problemsOf({ metrics, rules: [{ split, ramp, guards: [{ ...guard, action: 'hold' }] }] })).toEqual(
      {},
    )
    expect(problemsOf(guarded({ guards: [{ ...guard, worseThan: 99.9 }] }))).toEqual({})
    expect(
      problemsOf(guarded({ guards: [{ metric: 'Errors', worseThan: 1_000, action: 'pause' }] })),
    ).toEqual({})
    expect(problemsOf({ metrics, rules: [{ variant: 'a', condition: { '==': [1, 2] } }, rule] })).toEqual({})
  })

  it.each<[string, Partial<DecisionParts>, string, string]>([
    [
      'of an unknown metric',
      guarded({ guards: [{ ...guard, metric: 'x' }] }),
      'rules.0.guards.0.metric',
      'key of a metric',
    ],
    [
      'twice of a metric',
      guarded({ guards: [guard, guard] }),
      'rules.0.guards.1.metric',
      'has a guard already',
    ],
    [
      'of a fall by all',
      guarded({ guards: [{ ...guard, worseThan: 100 }] }),
      'rules.0.guards.0.worseThan',
      'below 100',
    ],
    [
      'of a rollout',
      { metrics, rules: [{ variant: 'b', guards: [guard] }] },
      'rules.0.guards',
      'a ramp or a split',
    ],
    [
      'of a split of one',
      { metrics, rules: [{ split: [{ variant: 'a', weight: 1 }], guards: [guard] }] },
      'rules.0.guards',
      'two weights',
    ],
    [
      'that hold a split',
      { metrics, rules: [{ split, guards: [{ ...guard, action: 'hold' }] }] },
      'rules.0.guards.0.action',
      'with a ramp',
    ],
    [
      'of the fallback',
      { metrics, rules: [{ ...rule, variant: 'a' }] },
      'rules.0.guards',
      'other than the fallback',
    ],
    ['before another rule', { metrics, rules: [rule, { variant: 'a' }] }, 'rules.0.guards', 'the last rule'],
    [
      'after a partial rule',
      { metrics, rules: [{ variant: 'a', rollout: 50 }, rule] },
      'rules.1.guards',
      'a rollout of 100',
    ],
  ])('%s are refused', (_what, change, field, message) => {
    expect(problemsOf(change)).toEqual({ [field]: expect.stringContaining(message) })
  })

  it('of 50 decisions are allowed', () => {
    const others = (count: number) => Array.from({ length: count }, (_, n) => named(`d${n}`, guarded({})))
    expect(problemsOf(guarded({}), others(MAX_GUARDED_DECISIONS - 1))).toEqual({})
    expect(problemsOf(guarded({}), others(MAX_GUARDED_DECISIONS))).toEqual({
      rules: expect.stringContaining('50 decisions'),
    })
    expect(problemsOf({}, others(MAX_GUARDED_DECISIONS))).toEqual({})
  })

  it('of 10 metrics with steps of 100 to 10,000,000 people are what the API accepts', () => {
    const fits = (count: number, minPeople: number, worseThan = 10): boolean =>
      createDecision.body?.validator.fits({
        key: 'd',
        ...parts(),
        rules: [
          {
            variant: 'b',
            ramp: [{ at: '2026-01-01T00:00:00Z', percentage: 5, minPeople }],
            guards: Array.from({ length: count }, () => ({ ...guard, worseThan })),
          },
        ],
      }) ?? false
    expect([10, 11].map((count) => fits(count, 100))).toEqual([true, false])
    expect([99, 100, 10_000_000, 10_000_001].map((people) => fits(1, people))).toEqual([
      false,
      true,
      true,
      false,
    ])
    expect([-0.1, 0, 1_000, 1_000.1].map((bound) => fits(1, 100, bound))).toEqual([false, true, true, false])
  })

  it('let a step ask for people, but for the last one', () => {
    const [first, last] = ramp as [(typeof ramp)[0], (typeof ramp)[0]]
    const steps = (...given: object[]) => ({ metrics, rules: [{ ...rule, ramp: given as typeof ramp }] })
    expect(problemsOf(steps({ ...first, minPeople: 100 }, last))).toEqual({})
    expect(problemsOf(steps(first, { ...last, minPeople: 100 }))).toEqual({
      'rules.0.ramp.1.minPeople': expect.stringContaining('last step'),
    })
    expect(problemsOf(steps({ ...first, percentage: 0, minPeople: 100 }, last))).toEqual({
      'rules.0.ramp.0.minPeople': expect.stringContaining('some people get the variant'),
    })
    expect(problemsOf({ rules: [{ variant: 'b', ramp: [{ ...first, minPeople: 100 }, last] }] })).toEqual({
      'rules.0.ramp.0.minPeople': expect.stringContaining('a guard'),
    })
  })
})

describe('a decision is refused', () => {
  const condition = (logic: unknown) => ({ rules: [{ variant: 'b', condition: logic }] })
  it.each<[string, Partial<DecisionParts>, string]>([
    ['whose fallback is no variant', { fallbackVariant: 'x' }, 'fallbackVariant'],
    [
      'with two variants of one key',
      { variants: [...parts().variants, { key: 'a', value: 3 }] },
      'variants.2.key',
    ],
    [
      'with two rules of one id',
      {
        rules: [
          { id: 'r', variant: 'a' },
          { id: 'r', variant: 'b' },
        ],
      },
      'rules.1.id',
    ],
    ['whose rule gives nothing', { rules: [{}] }, 'rules.0'],
    ['whose rule gives both', { rules: [{ variant: 'a', split: [{ variant: 'a', weight: 1 }] }] }, 'rules.0'],
    ['whose rule gives no variant of it', { rules: [{ variant: 'x' }] }, 'rules.0.variant'],
    [
      'whose split has no variant of it',
      { rules: [{ split: [{ variant: 'x', weight: 1 }] }] },
      'rules.0.split.0.variant',
    ],
    ['whose split weighs nothing', { rules: [{ split: [{ variant: 'a', weight: 0 }] }] }, 'rules.0.split'],
    [
      'whose split has a variant twice',
      {
        rules: [
          {
            split: [
              { variant: 'a', weight: 1 },
              { variant: 'a', weight: 1 },
            ],
          },
        ],
      },
      'rules.0.split.1.variant',
    ],
    [
      'whose weight for flagd is no integer',
      { bucketing: 'flagd', rules: [{ split: [{ variant: 'a', weight: 0.5 }] }] },
      'rules.0.split.0.weight',
    ],
    ['with a percentage of three decimals', { holdout: 0.005 }, 'holdout'],
    [
      'that ends before it begins',
      { schedule: { startsAt: '2026-01-02T00:00:00Z', endsAt: '2026-01-02T00:00:00Z' } },
      'schedule.endsAt',
    ],
    [
      'with an empty slice of a group',
      { exclusionGroup: { name: 'g', from: 10, to: 10 } },
      'exclusionGroup.to',
    ],
    ['with an unknown operation', condition({ explode: [1] }), 'rules.0.condition'],
    ['with a window of 91 days', condition({ '>': [{ var: 'counts.order.91d' }, 1] }), 'rules.0.condition'],
    ['with a window of no days', condition({ '>': [{ var: 'counts.order.0d' }, 1] }), 'rules.0.condition'],
    ['with a count of nothing', condition({ '>': [{ var: 'counts.order' }, 1] }), 'rules.0.condition'],
    ['with a count of a dotted name', condition({ '>': [{ var: 'counts.a.b.7d' }, 1] }), 'rules.0.condition'],
    [
      'that says only when asked what it reads',
      condition({ var: { cat: ['counts.', 'x'] } }),
      'rules.0.condition',
    ],
    [
      'that goes through lists within lists',
      condition({ some: [{ var: 'context.l' }, { some: [{ var: 'context.l' }, true] }] }),
      'rules.0.condition',
    ],
    [
      'that is too large',
      {
        variants: [
          { key: 'a', value: 'x'.repeat(MAX_DECISION_BYTES) },
          { key: 'b', value: 1 },
        ],
      },
      '',
    ],
    ['that depends on nobody', needs('nope'), 'rules.0.prerequisites.0.decision'],
  ])('%s', (_what, change, field) => {
    expect(Object.keys(problemsOf(change))).toContain(field)
  })

  it('for a variant that the other decision does not have', () => {
    expect(problemsOf(needs('other', 'x'), [named('other')])).toHaveProperty([
      'rules.0.prerequisites.0.variants',
    ])
  })

  it('for overlapping slices of an exclusion group', () => {
    const slice = (from: number, to: number) => ({ exclusionGroup: { name: 'g', from, to } })
    const others = [named('other', slice(0, 50))]
    expect(problemsOf(slice(49.99, 60), others).exclusionGroup).toContain('other')
    expect(problemsOf(slice(50, 60), others)).toEqual({})
    expect(problemsOf({ exclusionGroup: { name: 'another', from: 0, to: 60 } }, others)).toEqual({})
  })

  it('for a cycle of prerequisites, with its decisions', () => {
    expect(problemsOf(needs('x'), [named('x', needs('y')), named('y', needs('d'))]).rules).toContain(
      'd → x → y → d',
    )
    expect(problemsOf(needs('d'), []).rules).toContain('d → d')
  })

  it('not for a cycle of others, nor for two paths to one decision', () => {
    expect(problemsOf(needs('x'), [named('x', needs('y')), named('y', needs('x'))])).toEqual({})
    const ways = { rules: [...needs('x').rules, ...needs('y').rules] }
    expect(problemsOf(ways, [named('x', needs('z')), named('y', needs('z')), named('z')])).toEqual({})
  })
})

describe('rules keep their ids', () => {
  const before = write({ rules: [{ variant: 'a' }, { id: 'mine', variant: 'b' }] })

  it('by position, when they have no id', () => {
    const after = writeDecision(
      parts({ rules: [{ variant: 'a', rollout: 50 }, { variant: 'b' }, { variant: 'a' }] }),
      before,
      generated,
    )
    expect(after.rules.map(({ id }) => id).slice(0, 2)).toEqual(before.rules.map(({ id }) => id))
    expect(after.rules[2]?.id).toMatch(/^made-/)
    expect(after.salt).toBe(before.salt)
  })

  it('when they are moved with it', () => {
    const after = writeDecision(
      parts({ rules: [{ id: 'mine', variant: 'b' }, { variant: 'a' }] }),
      before,
      generated,
    )
    expect(after.rules[0]?.id).toBe('mine')
    expect(after.rules[1]?.id).not.toBe('mine')
  })
})

describe('a change is warned about', () => {
  const split = (b: number) => [
    {
      id: 'r',
      split: [
        { variant: 'a', weight: 1 },
        { variant: 'b', weight: b },
      ],
    },
  ]

  it.each([
    ['when weights change', { rules: split(1) }, { rules: split(2) }, ['weights_changed']],
    [
      'when a split takes the place of a variant',
      { rules: [{ id: 'r', variant: 'a' }] },
      { rules: split(1) },
      ['weights_changed'],
    ],
    [
      'not when a rule names another variant',
      { rules: [{ id: 'r', variant: 'a' }] },
      { rules: [{ id: 'r', variant: 'b' }] },
      [],
    ],
    [
      'when weights change in another environment',
      { environments: { staging: { rules: split(1) } } },
      { environments: { staging: { rules: split(2) } } },
      ['weights_changed'],
    ],
    ['when the salt changes', { salt: 'x' }, { salt: 'y' }, ['salt_changed']],
    ['when the bucketing changes', {}, { bucketing: 'flagd' as const }, ['bucketing_changed']],
    [
      'not when a rollout grows',
      { rules: [{ id: 'r', variant: 'a', rollout: 5 }] },
      { rules: [{ id: 'r', variant: 'a' }] },
      [],
    ],
  ])('%s', (_what, before, after, codes) => {
    expect(reshufflesOf(write(before), write(after)).map(({ code }) => code)).toEqual(codes)
  })
})

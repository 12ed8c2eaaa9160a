import { describe, expect, it } from 'vitest'
import type { Sample } from './estimate.ts'
import { type ExperimentData, experimentResults, MIN_PEOPLE } from './experiment-results.ts'

const share = (people: number, converted: number): Sample => ({
  people,
  sum: converted,
  sumOfSquares: converted,
  past: null,
})
const metric = (key: string, more: { goal?: 'up' | 'down'; guardrail?: boolean } = {}) => ({
  key,
  goal: 'up' as const,
  guardrail: false,
  ...more,
})
const splitGroup = (weights: Record<string, number>, people: Record<string, number>) => ({
  weights: new Map(Object.entries(weights)),
  people: new Map(Object.entries(people)),
})
type Data = ExperimentData<ReturnType<typeof metric>>
const experiment = (more: Partial<Data> = {}): Data => ({
  control: 'a',
  variants: ['a', 'b'],
  groups: [splitGroup({ a: 1, b: 1 }, { a: 1000, b: 1000 })],
  switched: 0,
  metrics: [
    {
      metric: metric('bought'),
      samples: new Map([
        ['a', share(1000, 100)],
        ['b', share(1000, 150)],
      ]),
    },
  ],
  ...more,
})
const codesOf = (data: Data) => experimentResults(data).warnings.map(({ code }) => code)

describe('results of an experiment', () => {
  it('compares each variant with the control', () => {
    const { metrics, sampleRatio, warnings } = experimentResults(experiment())
    const [a, b] = metrics[0]?.variants ?? []
    expect(a).toMatchObject({
      variant: 'a',
      control: true,
      people: 1000,
      value: 0.1,
      lift: null,
      pValue: null,
    })
    expect(b).toMatchObject({ variant: 'b', control: false, people: 1000, value: 0.15 })
    expect(b?.lift).toBeCloseTo(0.5, 10)
    expect(b?.interval?.[0]).toBeGreaterThan(0)
    expect(b?.adjustedPValue).toBe(b?.pValue)
    expect(sampleRatio).toMatchObject({ seen: { a: 1000, b: 1000 }, pValue: 1 })
    expect(warnings).toEqual([])
  })

  it('has a row for a variant without people', () => {
    const { metrics } = experimentResults(experiment({ variants: ['a', 'b', 'c'] }))
    expect(metrics[0]?.variants[2]).toMatchObject({ variant: 'c', people: 0, value: null, lift: null })
  })

  it('warns of a broken split in words', () => {
    const groups = [splitGroup({ a: 1, b: 1 }, { a: 1000, b: 1200 })]
    const [warning] = experimentResults(experiment({ groups })).warnings
    expect(warning?.code).toBe('sample_ratio_mismatch')
    expect(warning?.message).toContain('a: 1000 instead of about 1100, b: 1200 instead of about 1100')
  })

  it('counts nobody for a variant without people, also with a name that every object has', () => {
    const groups = [splitGroup({ a: 1, constructor: 1 }, { a: 1000 })]
    const [warning] = experimentResults(experiment({ variants: ['a', 'constructor'], groups })).warnings
    expect(warning?.message).toContain('a: 1000 instead of about 500, constructor: 0 instead of about 500')
  })

  it('warns below the least number of people, not at it', () => {
    const withPeople = (people: number) =>
      codesOf(experiment({ groups: [splitGroup({ a: 1, b: 1 }, { a: people, b: people })] }))
    expect(withPeople(MIN_PEOPLE - 1)).toEqual(['too_few_people'])
    expect(withPeople(MIN_PEOPLE)).toEqual([])
  })

  it('warns of more than 1 % of people with several variants, not of 1 %', () => {
    expect(codesOf(experiment({ switched: 20 }))).toEqual([])
    expect(codesOf(experiment({ switched: 21 }))).toEqual(['several_variants'])
  })

  it('warns of different splits, not of the same shares by other numbers', () => {
    const group = (a: number, b: number) => splitGroup({ a, b }, { a: 500, b: 500 })
    expect(codesOf(experiment({ groups: [group(1, 1), group(50, 50)] }))).toEqual([])
    expect(codesOf(experiment({ groups: [group(1, 1), group(1, 1.01)] }))).toEqual(['different_splits'])
  })

  it.each([
    ['up', 150, []],
    ['up', 50, ['guardrail_worse']],
    ['down', 150, ['guardrail_worse']],
    ['down', 50, []],
    ['down', 103, []],
  ] as const)('warns of a guardrail with goal %s and 100 against %d: %j', (goal, converted, codes) => {
    const samples = new Map([
      ['a', share(1000, 100)],
      ['b', share(1000, converted)],
    ])
    expect(
      codesOf(experiment({ metrics: [{ metric: metric('errors', { goal, guardrail: true }), samples }] })),
    ).toEqual(codes)
  })

  it('adjusts the p-values of several metrics, and leaves guardrails out', () => {
    const samples = (converted: number) =>
      new Map([
        ['a', share(1000, 100)],
        ['b', share(1000, converted)],
      ])
    const { metrics, warnings } = experimentResults(
      experiment({
        metrics: [
          { metric: metric('one'), samples: samples(150) },
          { metric: metric('two'), samples: samples(128) },
          { metric: metric('three'), samples: samples(101) },
          { metric: metric('guard', { guardrail: true }), samples: samples(103) },
        ],
      }),
    )
    const results = metrics.map(({ variants }) => variants[1])
    expect(results[1]?.pValue).toBeLessThan(0.05)
    expect(results[0]?.adjustedPValue).toBeCloseTo(3 * (results[0]?.pValue ?? 1), 12)
    expect(results[1]?.adjustedPValue).toBeCloseTo(2 * (results[1]?.pValue ?? 1), 12)
    expect(results[3]?.adjustedPValue).toBeNull()
    expect(warnings).toMatchObject([
      { code: 'several_comparisons', message: expect.stringContaining('two of b') },
    ])
  })

  it('warns of amounts in several currencies', () => {
    const [first] = experiment().metrics
    const metrics = [{ ...(first as Data['metrics'][number]), currencies: ['EUR', 'USD'] }]
    expect(codesOf(experiment({ metrics }))).toEqual(['several_currencies'])
  })

  it.each([
    [[], null],
    [['EUR'], 'EUR'],
    [['EUR', null], null],
    [['EUR', 'USD'], null],
  ])('names the currency of amounts in %j as %j', (currencies, currency) => {
    const [first] = experiment().metrics
    const metrics = [{ ...(first as Data['metrics'][number]), currencies }]
    expect(experimentResults(experiment({ metrics })).metrics).toMatchObject([{ currency }])
  })
})

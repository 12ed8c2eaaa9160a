import { DefaultLogger, type EvaluationContext } from '@openfeature/core'
import { FlagdCore } from '@openfeature/flagd-core'
import type { Decision, DecisionDefinition, DecisionRule } from '@waymark/contracts/decision-definition'
import fc from 'fast-check'
import murmurhash from 'murmurhash'
import { afterEach, describe, expect, it, vi } from 'vitest'
import { flagdBucketOf } from './bucket.ts'
import { compileDecision, createDecisionSet } from './compiled-decision.ts'
import { createDecider } from './decide.ts'
import { localCondition } from './local-condition.ts'
import { localFlagOf } from './local-flag.ts'

const rule = (change: Partial<DecisionRule> = {}): DecisionRule => ({
  id: 'r1',
  description: null,
  condition: null,
  prerequisites: [],
  rollout: 100,
  variant: 'on',
  split: null,
  ...change,
})
const decision = (change: Partial<DecisionDefinition> = {}, more: Partial<Decision> = {}): Decision => ({
  id: 'id',
  projectId: 'p',
  key: 'checkout',
  status: 'active',
  version: 3,
  definition: {
    name: null,
    description: null,
    variants: ['off', 'on', 'more'].map((key) => ({ key, value: `value of ${key}`, couponPoolId: null })),
    fallbackVariant: 'off',
    rules: [rule()],
    holdout: 0,
    frequencyCap: null,
    schedule: null,
    exclusionGroup: null,
    salt: 'salt',
    ...change,
  },
  ...more,
})

const reasonsFor = (one: Decision): string[] => {
  const flag = localFlagOf(one)
  return Array.isArray(flag) ? flag.map(({ code }) => code) : []
}

/** Evaluates a decision for contexts, as flagd's provider and as Waymark do. */
const evaluator = (one: Decision) => {
  const flag = localFlagOf(one)
  if (Array.isArray(flag)) throw new Error(JSON.stringify(flag))
  const flagd = new FlagdCore(undefined, new DefaultLogger())
  flagd.setConfigurations(JSON.stringify({ flags: { [one.key]: flag } }))
  const set = createDecisionSet([one], compileDecision)
  const compiled = set.get(one.key)
  if (!compiled) throw new Error('The decision is not usable')
  return (targetingKey: string, context: Record<string, unknown>) => {
    const given = { ...context, targetingKey } as EvaluationContext
    const { value, variant, errorCode } = flagd.resolveStringEvaluation(one.key, 'code', given)
    // The subject is that of a person who came with another id.
    const situation = { projectId: 'p', subject: 'first-id', targetingKey, now: Date.now() }
    const data = { traits: {}, context, counts: {} }
    const own = createDecider(set, { ...situation, data }).decide(compiled)
    return {
      local: { value, variant, ...(errorCode && { errorCode }) },
      own: { value: own.value, variant: own.variant },
    }
  }
}

const attribute = fc.constantFrom('plan', 'age', 'shop.size')
const texts = ['pro', '', '17', '17.5', ' 3 ', '2026-01-01', 'abc', '[object Object]', '0x1f']
const scalar = fc.oneof(
  fc.constantFrom(...texts),
  fc.constantFrom(0, 17, 17.5, -3, 1e21),
  fc.boolean(),
  fc.constant(null),
)
const read = attribute.map((name) => ({ var: `context.${name}` }))
const comparison = fc.oneof(
  fc
    .tuple(fc.constantFrom('==', '!=', '<', '<=', '>', '>='), read, scalar)
    .map(([name, reading, constant]) => ({ [name]: [reading, constant] })),
  fc
    .tuple(fc.constantFrom('===', '!=='), read, scalar)
    .map(([name, reading, constant]) => ({ [name]: [constant, reading] })),
)
const { condition } = fc.letrec((tie) => ({
  condition: fc.oneof(
    { maxDepth: 3 },
    comparison,
    read,
    fc
      .tuple(
        read,
        fc.array(
          scalar.filter((one) => one !== null),
          { maxLength: 3 },
        ),
      )
      .map((args) => ({ in: args })),
    fc.tuple(fc.constantFrom(...texts), read).map((args) => ({ in: args })),
    fc
      .tuple(attribute, scalar)
      .map(([name, fallback]) => ({ '==': [{ var: [`context.${name}`, fallback] }, 17] })),
    fc
      .tuple(fc.constantFrom('and', 'or'), fc.array(tie('condition'), { minLength: 1, maxLength: 3 }))
      .map(([name, args]) => ({ [name]: args })),
    tie('condition').map((one) => ({ '!': [one] })),
    fc.array(tie('condition'), { minLength: 2, maxLength: 4 }).map((args) => ({ if: args })),
  ),
}))
const anything = fc.oneof(
  { weight: 4, arbitrary: scalar },
  { weight: 1, arbitrary: fc.array(scalar, { maxLength: 2 }) },
  {
    weight: 1,
    arbitrary: fc.dictionary(fc.constantFrom('a', 'b'), scalar, { maxKeys: 2, noNullPrototype: true }),
  },
)
const context = fc.record(
  {
    plan: anything,
    age: anything,
    shop: fc.oneof(fc.record({ size: anything }, { noNullPrototype: true }), anything),
  },
  { requiredKeys: [], noNullPrototype: true },
)
const percentage = fc.integer({ min: 0, max: 10_000 }).map((hundredths) => hundredths / 100)
const target = fc.oneof(
  fc.constantFrom('on', 'more', 'off').map((variant) => ({ variant, split: null })),
  fc
    .array(fc.integer({ min: 0, max: 1_000_000 }), { minLength: 3, maxLength: 3 })
    .filter((weights) => weights.some((weight) => weight > 0))
    .map((weights) => ({
      variant: null,
      split: ['on', 'off', 'more'].map((variant, index) => ({ variant, weight: weights[index] ?? 0 })),
    })),
)
const definition = fc.record({
  bucketing: fc.constantFrom('flagd' as const),
  holdout: fc.oneof(fc.constant(0), percentage),
  salt: fc.stringMatching(/^[a-z]{1,8}$/),
  rules: fc
    .array(fc.tuple(fc.oneof(fc.constant(null), condition), percentage, target), { maxLength: 3 })
    .map((parts) =>
      parts.map(([one, rollout, given], index) =>
        rule({ id: `r${index}`, condition: one, rollout, ...given }),
      ),
    ),
})

describe('a flag of flagd', () => {
  afterEach(() => {
    vi.useRealTimers()
  })

  it('gives everyone what the decision gives, whatever the context holds', () => {
    fc.assert(
      fc.property(
        definition,
        fc.array(fc.tuple(fc.string({ unit: 'binary', minLength: 1 }), context), {
          minLength: 5,
          maxLength: 5,
        }),
        (parts, people) => {
          const evaluate = evaluator(decision(parts))
          for (const [targetingKey, given] of people) {
            const { local, own } = evaluate(targetingKey, given)
            expect(local).toEqual(own)
          }
        },
      ),
      { numRuns: 500 },
    )
  })

  it('is the same for rules that target, with the buckets of Waymark', () => {
    fc.assert(
      fc.property(condition, context, (one, given) => {
        const { local, own } = evaluator(decision({ rules: [rule({ condition: one })] }))('v', given)
        expect(local).toEqual(own)
      }),
      { numRuns: 500 },
    )
  })

  it('follows ramps and schedules by the second', () => {
    const evaluate = evaluator(
      decision({
        bucketing: 'flagd',
        schedule: { startsAt: '2026-01-01T00:00:00.500Z', endsAt: '2026-01-01T00:00:20Z' },
        rules: [
          rule({
            ramp: [
              { at: '2026-01-01T00:00:05.001Z', percentage: 30 },
              { at: '2026-01-01T00:00:10Z', percentage: 100 },
            ],
          }),
        ],
      }),
    )
    vi.useFakeTimers({ toFake: ['Date'] })
    const given = (time: string): number => {
      vi.setSystemTime(`2026-01-01T00:00:${time}Z`)
      const people = Array.from({ length: 100 }, (_, n) => evaluate(`visitor-${n}`, {}))
      for (const { local, own } of people) expect(local).toEqual(own)
      return people.filter(({ own }) => own.variant === 'on').length
    }
    const some = given('06.000')
    expect(some).toBeGreaterThan(10)
    expect(['00.999', '05.999', '09.999', '10.000', '19.999', '20.000'].map(given)).toEqual([
      0,
      0,
      some,
      100,
      100,
      0,
    ])
  })

  it.each([
    ['a paused decision', decision({}, { status: 'paused' }), 'off'],
    ['a decision without rules', decision({ rules: [] }), 'off'],
    ['a rule for everyone', decision(), 'on'],
  ])('of %s', (_what, one, variant) => {
    expect(evaluator(one)('v', {})).toEqual({
      local: { variant, value: `value of ${variant}` },
      own: { variant, value: `value of ${variant}` },
    })
  })

  it('divides people by the hash of the text, or of its CBOR', () => {
    const buckets = 2_147_483_647
    for (const text of ['', 'a', 'abcd', 'salt:checkout:split:r1:visitor-1'.padEnd(300, 'x')]) {
      const expected = (BigInt(murmurhash.v3(text, 0)) * BigInt(buckets)) >> 32n
      expect(flagdBucketOf('flagd', text, buckets)).toBe(Number(expected))
    }
    // Of `cbor2` and `mmh3`, which flagd's provider for Python uses.
    expect(
      [3, 23, 24, 255, 256].map((length) =>
        flagdBucketOf('flagd-cbor', 'ä'.padEnd(length - 1, 'x'), buckets),
      ),
    ).toEqual([829_175_335, 87_379_234, 1_227_418_136, 2_052_063_196, 255_775_831])
  })
})

describe('a decision is not local', () => {
  const on = (logic: unknown) => decision({ rules: [rule({ condition: logic })] })
  const split = [
    { variant: 'on', weight: 1 },
    { variant: 'off', weight: 1 },
  ]
  it.each<[string, Decision, string]>([
    ['with a holdout in buckets of Waymark', decision({ holdout: 1 }), 'bucketing'],
    ['with a rollout in buckets of Waymark', decision({ rules: [rule({ rollout: 99.99 })] }), 'bucketing'],
    [
      'with a split in buckets of Waymark',
      decision({ rules: [rule({ variant: null, split })] }),
      'bucketing',
    ],
    ['with a frequency cap', decision({ frequencyCap: { count: 1, windowSeconds: 1 } }), 'frequency_cap'],
    ['in an exclusion group', decision({ exclusionGroup: { name: 'g', from: 0, to: 1 } }), 'exclusion_group'],
    ['with coupons', decision({ variants: [{ key: 'off', value: 1, couponPoolId: 'pool' }] }), 'coupons'],
    [
      'with null as a value',
      decision({ variants: [{ key: 'off', value: null, couponPoolId: null }] }),
      'values',
    ],
    [
      'with values of two types',
      decision({
        variants: [
          { key: 'off', value: 1, couponPoolId: null },
          { key: 'on', value: 'a', couponPoolId: null },
        ],
      }),
      'values',
    ],
    [
      'that starts within a second',
      decision({ schedule: { startsAt: '2026-01-01T00:00:00.001Z', endsAt: null } }),
      'schedule',
    ],
    [
      'that depends on others',
      decision({ rules: [rule({ prerequisites: [{ decision: 'other', variants: ['on'] }] })] }),
      'prerequisites',
    ],
    ['by traits', on({ '==': [{ var: 'traits.plan' }, 'pro'] }), 'traits'],
    ['by counts', on({ '>': [{ var: 'counts.order.7d' }, 1] }), 'counts'],
    ['by segments', on({ segment: 'buyers' }), 'segments'],
    ['by the targeting key', on({ '==': [{ var: 'context.targetingKey' }, 'a'] }), 'context'],
    ['by all of the context', on({ '!': [{ var: 'context' }] }), 'context'],
    ['by text that is cut', on({ '==': [{ substr: [{ var: 'context.a' }, 0, 2] }, 'ab'] }), 'operation'],
    ['by more than two values', on({ '<': [1, { var: 'context.a' }, 3] }), 'operation'],
    ['by a constant first', on({ '<': [3, { var: 'context.a' }] }), 'operation'],
    ['by two attributes', on({ '==': [{ var: 'context.a' }, { var: 'context.b' }] }), 'operation'],
    [
      'by a condition that is nested deep',
      on(
        Array.from({ length: 15 }).reduce<unknown>(
          (inner) => ({ if: [inner, { var: 'context.a' }, { var: 'context.b' }] }),
          { var: 'context.c' },
        ),
      ),
      'size',
    ],
  ])('%s', (_what, one, code) => {
    expect(reasonsFor(one)).toEqual([code])
  })

  it('for each reason', () => {
    const rules = [rule({ rollout: 5, condition: { var: 'traits.a' } }), rule({ id: 'r2', rollout: 6 })]
    expect(localFlagOf(decision({ rules, holdout: 1 }))).toMatchObject([
      { code: 'bucketing', ruleId: null },
      { code: 'bucketing', ruleId: 'r1' },
      { code: 'bucketing', ruleId: 'r2' },
      { code: 'traits', ruleId: 'r1' },
    ])
  })
})

it('a condition on text stays short', () => {
  expect(
    localCondition({ and: [{ '==': [{ var: 'context.plan' }, 'pro'] }, { var: 'context.beta' }] }),
  ).toEqual({
    and: [{ '===': [{ var: 'plan' }, 'pro'] }, { if: [{ var: 'beta' }, true, false] }],
  })
})

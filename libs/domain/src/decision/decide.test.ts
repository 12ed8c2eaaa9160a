import type { Decision, DecisionDefinition, DecisionRule } from '@waymark/contracts/decision-definition'
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { bucketOf } from './bucket.ts'
import { compileDecision, createDecisionSet } from './compiled-decision.ts'
import { type Choice, createDecider } from './decide.ts'
import { compileSegment, createSegmentSet } from './segment.ts'

const NOW = Date.parse('2026-11-21T12:00:00.000Z')
const PROJECT_ID = '01900000-0000-7000-8000-000000000001'

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
const decision = (
  { key = 'd', status = 'active' as Decision['status'] } = {},
  change: Partial<DecisionDefinition> = {},
): Decision => ({
  id: `id-${key}`,
  projectId: PROJECT_ID,
  key,
  status,
  version: 1,
  definition: {
    name: null,
    description: null,
    variants: [
      { key: 'off', value: 0, couponPoolId: null },
      { key: 'on', value: 1, couponPoolId: null },
      { key: 'more', value: 2, couponPoolId: null },
    ],
    fallbackVariant: 'off',
    rules: [rule()],
    holdout: 0,
    frequencyCap: null,
    schedule: null,
    exclusionGroup: null,
    salt: 'salt',
    ...change,
  },
})

type Data = { traits?: Record<string, unknown>; context?: Record<string, unknown> }

const deciderOf = (
  decisions: Decision[],
  subject = 'visitor-1',
  { traits = {}, context = {} }: Data = {},
) => {
  const set = createDecisionSet(decisions, compileDecision)
  const data = { traits, context, counts: { order: { '7d': 3 } } }
  const decider = createDecider(set, { projectId: PROJECT_ID, subject, data, now: NOW })
  const find = (key: string) => {
    const compiled = set.get(key)
    if (!compiled) throw new Error(`there is no ${key}`)
    return compiled
  }
  return {
    decide: (key = 'd') => decider.decide(find(key)),
    explain: (key = 'd') => decider.explain(find(key)),
  }
}
const choose = (change: Partial<DecisionDefinition>, subject?: string, data?: Data): Choice =>
  deciderOf([decision({}, change)], subject, data).decide()

/** A subject whose bucket of the rollout of `r1` is below a number, or is that number or above. */
const bucketBelow = (limit: number): string => subjectWith((bucket) => bucket < limit)
const bucketFrom = (limit: number): string => subjectWith((bucket) => bucket >= limit)
const subjectWith = (fits: (bucket: number) => boolean): string => {
  const found = people(1_000).find((subject) => fits(bucketOf('salt', 'd', 'rollout:r1', subject)))
  if (found === undefined) throw new Error('nobody fits')
  return found
}

const people = (count: number): string[] => Array.from({ length: count }, (_, n) => `visitor-${n}`)

describe('a decision', () => {
  it('returns the variant of a rule', () => {
    expect(choose({})).toEqual({
      variant: 'on',
      value: 1,
      reason: 'TARGETING_MATCH',
      ruleId: 'r1',
      eligible: true,
    })
  })

  it('returns the fallback variant when no rule applies', () => {
    const nobody = { '==': [1, 2] }
    expect(choose({ rules: [] })).toMatchObject({ variant: 'off', value: 0, reason: 'DEFAULT', ruleId: null })
    expect(choose({ rules: [rule({ condition: nobody })] })).toMatchObject({
      reason: 'DEFAULT',
      eligible: false,
    })
  })

  it('evaluates its rules in order', () => {
    const rules = [
      rule({ id: 'never', condition: { '==': [1, 2] } }),
      rule({ id: 'first', variant: 'more' }),
      rule({ id: 'second' }),
    ]
    expect(choose({ rules })).toMatchObject({ variant: 'more', ruleId: 'first' })
  })

  it.each([
    ['a trait', { '==': [{ var: 'traits.plan' }, 'pro'] }, true],
    ['a trait that is missing', { '==': [{ var: 'traits.nope' }, 'pro'] }, false],
    ['the context', { in: [{ var: 'context.country' }, ['DE', 'AT']] }, true],
    ['a count', { '>': [{ var: 'counts.order.7d' }, 2] }, true],
    ['a count that is missing', { '>': [{ var: 'counts.nope.7d' }, 0] }, false],
    ['something absurd', { '>': [{ var: 'traits.plan.x.y' }, { var: 'context' }] }, false],
  ])('evaluates a condition on %s', (_what, condition, applies) => {
    const data = { traits: { plan: 'pro' }, context: { country: 'AT' } }
    const { reason } = choose({ rules: [rule({ condition })] }, 'visitor-1', data)
    expect(reason).toBe(applies ? 'TARGETING_MATCH' : 'DEFAULT')
  })

  it.each(['draft', 'paused', 'archived'] as const)(
    'returns the fallback variant while it is %s',
    (status) => {
      expect(deciderOf([decision({ status })]).decide()).toMatchObject({ variant: 'off', reason: 'DISABLED' })
    },
  )

  it.each([
    ['before it begins', { startsAt: '2026-11-21T12:00:00.001Z', endsAt: null }, 'DISABLED'],
    ['when it begins', { startsAt: '2026-11-21T13:00:00.000+01:00', endsAt: null }, 'TARGETING_MATCH'],
    ['just before it ends', { startsAt: null, endsAt: '2026-11-21T12:00:00.001Z' }, 'TARGETING_MATCH'],
    ['when it ends', { startsAt: null, endsAt: '2026-11-21T12:00:00.000Z' }, 'DISABLED'],
  ])('follows its schedule: %s', (_when, schedule, reason) => {
    expect(choose({ schedule })).toMatchObject({ reason })
  })

  it('holds out the configured percentage, regardless of the rules', () => {
    const held = people(10_000).filter((subject) => choose({ holdout: 10 }, subject).reason === 'HOLDOUT')
    expect(held.length).toBeGreaterThan(900)
    expect(held.length).toBeLessThan(1_100)
    expect(choose({ holdout: 100 })).toMatchObject({ variant: 'off', ruleId: null, eligible: true })
    expect(choose({ holdout: 100, rules: [] }).eligible).toBe(false)
  })

  it.each([
    ['before the first step', '2026-11-21T12:00:00.001Z', 0],
    ['from the time of a step on', '2026-11-21T13:00:00.000+01:00', 20],
    ['until the next step', '2026-11-20T12:00:00.000Z', 20],
    ['after the last step', '2026-11-19T12:00:00.000Z', 100],
  ])('follows a ramp: %s', (_when, first, percentage) => {
    const after = (hours: number) => new Date(Date.parse(first) + hours * 3_600_000).toISOString()
    const ramp = [
      { at: first, percentage: 20 },
      { at: after(36), percentage: 100 },
    ]
    const [inside, outside] = [bucketBelow(2_000), bucketFrom(2_000)]
    const reasonOf = (subject: string) => choose({ rules: [rule({ ramp })] }, subject).reason
    expect(reasonOf(inside)).toBe(percentage > 0 ? 'TARGETING_MATCH' : 'DEFAULT')
    expect(reasonOf(outside)).toBe(percentage === 100 ? 'TARGETING_MATCH' : 'DEFAULT')
    const [explained] = deciderOf([decision({}, { rules: [rule({ ramp })] })], inside).explain().rules
    expect(explained?.rollout.below).toBe(percentage * 100)
  })

  it('keeps people in a ramp whose percentages do not fall', () => {
    const steps = fc.uniqueArray(fc.integer({ min: -1_000, max: 1_000 }), { minLength: 1, maxLength: 5 })
    const percentages = fc.array(fc.integer({ min: 0, max: 100 }), { minLength: 5, maxLength: 5 })
    fc.assert(
      fc.property(steps, percentages, fc.string(), (minutes, shares, subject) => {
        const ascending = shares.toSorted((a, b) => a - b)
        const ramp = minutes
          .toSorted((a, b) => a - b)
          .map((minute, index) => ({
            at: new Date(NOW + minute * 60_000).toISOString(),
            percentage: ascending[index] ?? 100,
          }))
        const set = createDecisionSet([decision({}, { rules: [rule({ ramp })] })], compileDecision)
        const inAt = (minute: number): boolean => {
          const compiled = set.get('d')
          if (!compiled) throw new Error('there is no d')
          const data = { traits: {}, context: {}, counts: {} }
          const now = NOW + minute * 60_000
          const { variant } = createDecider(set, {
            projectId: PROJECT_ID,
            subject,
            data,
            days: [],
            now,
          }).decide(compiled)
          return variant === 'on'
        }
        const over = [-1_001, ...minutes.toSorted((a, b) => a - b), 1_001].map(inAt)
        expect(over).toEqual(over.toSorted((a, b) => Number(a) - Number(b)))
      }),
    )
  })

  it('only adds people when the rollout grows', () => {
    const reached = (rollout: number) =>
      people(2_000).filter((subject) => choose({ rules: [rule({ rollout })] }, subject).reason !== 'DEFAULT')
    const [some, more] = [reached(10), reached(11)]
    expect(more.length).toBeGreaterThan(some.length)
    expect(more).toEqual(expect.arrayContaining(some))
    expect(reached(0)).toEqual([])
    expect(reached(100)).toHaveLength(2_000)
  })

  it('counts people excluded by chance alone as eligible', () => {
    expect(choose({ rules: [rule({ rollout: 0 })] })).toMatchObject({ reason: 'DEFAULT', eligible: true })
  })

  it('splits by weight, always the same for a person', () => {
    const split = [
      { variant: 'off', weight: 1 },
      { variant: 'on', weight: 3 },
    ]
    const rules = [rule({ variant: null, split })]
    const chosen = people(10_000).map((subject) => choose({ rules }, subject))
    expect(chosen.every(({ reason }) => reason === 'SPLIT')).toBe(true)
    const on = chosen.filter(({ variant }) => variant === 'on').length
    expect(on).toBeGreaterThan(7_300)
    expect(on).toBeLessThan(7_700)
    expect(people(100).map((subject) => choose({ rules }, subject))).toEqual(chosen.slice(0, 100))
  })

  it('matches the published buckets', () => {
    fc.assert(
      fc.property(fc.string({ minLength: 1 }), fc.integer({ min: 0, max: 100 }), (subject, rollout) => {
        const isIn = bucketOf('salt', 'd', 'rollout:r1', subject) < rollout * 100
        expect(choose({ rules: [rule({ rollout })] }, subject).reason).toBe(
          isIn ? 'TARGETING_MATCH' : 'DEFAULT',
        )
      }),
    )
  })
})

describe('an exclusion group', () => {
  const first = decision({ key: 'a' }, { exclusionGroup: { name: 'g', from: 0, to: 30 } })
  const second = decision({ key: 'b' }, { exclusionGroup: { name: 'g', from: 30, to: 100 } })

  it('includes each person in exactly one of its decisions', () => {
    const both = people(5_000).map((subject) => {
      const { decide } = deciderOf([first, second], subject)
      return [decide('a'), decide('b')].map(({ reason }) => reason === 'TARGETING_MATCH')
    })
    expect(both.every(([inA, inB]) => inA !== inB)).toBe(true)
    const inFirst = both.filter(([inA]) => inA).length / both.length
    expect(inFirst).toBeGreaterThan(0.27)
    expect(inFirst).toBeLessThan(0.33)
  })
})

describe('a prerequisite', () => {
  const after = (variants: string[], of = 'a') =>
    decision({ key: 'b' }, { rules: [rule({ prerequisites: [{ decision: of, variants }] })] })

  it.each([
    ['met', decision({ key: 'a' }), ['on'], 'TARGETING_MATCH'],
    ['met by one of several', decision({ key: 'a' }), ['more', 'on'], 'TARGETING_MATCH'],
    ['met by the fallback variant', decision({ key: 'a' }, { rules: [] }), ['off'], 'TARGETING_MATCH'],
    ['not met', decision({ key: 'a' }), ['more'], 'DEFAULT'],
    ['not met while the other is paused', decision({ key: 'a', status: 'paused' }), ['off'], 'DEFAULT'],
    ['not met without the other', decision({ key: 'z' }), ['on'], 'DEFAULT'],
  ])('is %s', (_what, other, variants, reason) => {
    expect(deciderOf([other, after(variants)]).decide('b').reason).toBe(reason)
  })

  it('is not met when it leads back to the decision itself', () => {
    const circle = decision(
      { key: 'a' },
      { rules: [rule({ prerequisites: [{ decision: 'b', variants: ['on'] }] })] },
    )
    expect(deciderOf([circle, after(['on'])]).decide('b').reason).toBe('DEFAULT')
  })

  it('is collected recursively, with cycles and missing ones', () => {
    const needing = (key: string, ...others: string[]) =>
      decision(
        { key },
        {
          rules: others.map((other) => rule({ prerequisites: [{ decision: other, variants: ['on'] }] })),
        },
      )
    const decisions = [needing('a', 'b', 'c'), needing('b', 'd'), needing('c', 'a', 'nope'), needing('d')]
    const set = createDecisionSet([...decisions, needing('e')], compileDecision)
    expect([...set.withPrerequisites(['a'])].sort()).toEqual(['a', 'b', 'c', 'd', 'nope'])
    expect(set.withPrerequisites(['d', 'unknown'])).toEqual(['d', 'unknown'])
  })
})

describe('an explanation', () => {
  it('evaluates segments within a budget', () => {
    const containing = (key: string, value: string) => ({
      key,
      condition: { filters: [{ property: 'traits.text', op: 'contains' as const, value }] },
    })
    const segments = [containing('cheap', 'aa'), containing('costly', 'a'.repeat(400))]
    const rules = segments.map(({ key }) => rule({ id: key, condition: { segment: key } }))
    const set = createDecisionSet(
      [decision({}, { rules })],
      compileDecision,
      createSegmentSet(segments, compileSegment),
    )
    const explain = (text: string) => {
      const data = { traits: { text }, context: {}, counts: {} }
      const decider = createDecider(set, { projectId: PROJECT_ID, subject: 'visitor-1', data, now: NOW })
      const compiled = set.get('d')
      return compiled && decider.explain(compiled).segments
    }
    expect(explain('a'.repeat(400))).toEqual({ cheap: true, costly: true })
    expect(explain('a'.repeat(64_000))).toEqual({ cheap: true, costly: false })
  })

  it('lists each step of each rule, including those not reached', () => {
    const rules = [
      rule({ id: 'no', condition: { '==': [1, 2] } }),
      rule({ id: 'yes' }),
      rule({
        id: 'late',
        variant: null,
        rollout: 50,
        split: [{ variant: 'more', weight: 1 }],
        prerequisites: [{ decision: 'nope', variants: ['x'] }],
      }),
    ]
    const {
      holdout,
      exclusionGroup,
      rules: steps,
    } = deciderOf([decision({}, { rules, holdout: 5 })]).explain()
    expect(holdout).toEqual({ bucket: bucketOf('salt', 'd', 'holdout', 'visitor-1'), below: 500, in: false })
    expect(exclusionGroup).toBeNull()
    expect(steps).toMatchObject([
      { id: 'no', condition: false, variant: null },
      { id: 'yes', condition: true, variant: 'on', rollout: { below: 10_000, in: true } },
      {
        id: 'late',
        prerequisites: [{ decision: 'nope', variant: null, met: false }],
        rollout: { bucket: bucketOf('salt', 'd', 'rollout:late', 'visitor-1'), below: 5_000 },
        split: { bucket: bucketOf('salt', 'd', 'split:late', 'visitor-1') },
        variant: null,
      },
    ])
  })
})

import type { SegmentCondition } from '@waymark/contracts/http/segments'
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { compileLogic, logicData } from '../logic/compile-logic.ts'
import { WorkBudget } from '../logic/work-budget.ts'
import { compileCondition, conditionProblems, segmentsIn } from './condition.ts'
import {
  compileSegment,
  createSegmentLookup,
  createSegmentSet,
  isInSegment,
  MAX_SEGMENT_BYTES,
  type Segment,
  segmentProblems,
} from './segment.ts'

const NOW = Date.parse('2026-11-25T12:00:00.000Z')
const ofPlan = (value: string) => ({ property: 'traits.plan', op: 'eq' as const, value })
const orders = (days: number, op: 'eq' | 'gt' | 'gte' | 'lt' | 'lte', value: number) => ({
  eventName: 'order',
  days,
  op,
  value,
})
const pro: Segment = { key: 'pro', condition: { filters: [ofPlan('pro')] } }
const regulars: Segment = { key: 'regulars', condition: { counts: [orders(2, 'gte', 3)] } }

type Someone = { traits?: Record<string, unknown>; days?: { event: string; day: string; n: number }[] }
const lookupOf = (segments: Segment[], { traits = {}, days = [] }: Someone = {}, compiled: string[] = []) => {
  const set = createSegmentSet(segments, (segment) => {
    compiled.push(segment.key)
    return compileSegment(segment)
  })
  return createSegmentLookup(set, { traits, days, now: NOW })
}
const isIn = (segment: Segment, someone?: Someone) => lookupOf([segment], someone)(segment.key)?.holds()

describe('a segment', () => {
  it('has the people that match all filters and counts, or any of them', () => {
    const of = (match: 'all' | 'any'): Segment => ({
      key: 's',
      condition: { match, ...pro.condition, ...regulars.condition },
    })
    const days = [{ event: 'order', day: '2026-11-25', n: 3 }]
    const people = [{ traits: { plan: 'pro' }, days }, { traits: { plan: 'pro' } }, { days }, {}]
    expect(people.map((someone) => isIn(of('all'), someone))).toEqual([true, false, false, false])
    expect(people.map((someone) => isIn(of('any'), someone))).toEqual([true, true, true, false])
  })

  it('counts the days of its window, including today and days that begin in the future', () => {
    const on = (day: string) => isIn(regulars, { days: [{ event: 'order', day, n: 3 }] })
    expect(['2026-11-23', '2026-11-24', '2026-11-25', '2026-11-26'].map(on)).toEqual([
      false,
      true,
      true,
      true,
    ])
  })

  it('compares as its operator says', () => {
    const holds = (op: Parameters<typeof orders>[1]) =>
      [2, 3, 4].map((n) =>
        isInSegment(compileSegment({ condition: { counts: [orders(1, op, 3)] } }), {
          traits: {},
          countOf: () => n,
        }),
      )
    expect(holds('eq')).toEqual([false, true, false])
    expect(holds('gt')).toEqual([false, false, true])
    expect(holds('gte')).toEqual([false, true, true])
    expect(holds('lt')).toEqual([true, false, false])
    expect(holds('lte')).toEqual([true, true, false])
  })

  it('names the member that is wrong', () => {
    const problems = (condition: SegmentCondition) =>
      segmentProblems(condition, 'condition').map(({ field }) => field)
    expect(problems({})).toEqual(['condition'])
    expect(problems({ filters: [], counts: [] })).toEqual(['condition'])
    expect(problems({ filters: [ofPlan('pro'), { property: 'properties.a', op: 'exists' }] })).toEqual([
      'condition.filters.1.property',
    ])
    expect(problems({ filters: [{ property: 'traits.a', op: 'contains', value: 3 }] })).toEqual([
      'condition.filters.0.value',
    ])
    expect(problems({ filters: [{ property: 'nothing', op: 'exists' }] })).toEqual([
      'condition.filters.0.property',
    ])
    expect(() => compileSegment({ condition: {} })).toThrow('condition needs at least one item')
  })

  it('is limited in its bytes', () => {
    const ofBytes = (bytes: number): SegmentCondition => {
      const empty = { filters: [ofPlan('')] }
      return { filters: [ofPlan('x'.repeat(bytes - JSON.stringify(empty).length))] }
    }
    expect(segmentProblems(ofBytes(MAX_SEGMENT_BYTES), 'condition')).toEqual([])
    expect(segmentProblems(ofBytes(MAX_SEGMENT_BYTES + 1), 'condition')).toMatchObject([
      { field: 'condition', rule: 'max_size' },
    ])
  })
})

describe('a condition with segments', () => {
  const evaluate = (condition: unknown, lookup: ReturnType<typeof lookupOf>, budget = new WorkBudget()) =>
    compileCondition(condition).evaluate(logicData({ traits: {}, context: { list: [1, 2] } }, lookup), budget)

  it('is true for members, also in a list, and false for an unknown segment', () => {
    const lookup = lookupOf([pro, regulars], { traits: { plan: 'pro' } })
    expect(evaluate({ segment: 'pro' }, lookup)).toBe('holds')
    expect(evaluate({ segment: 'regulars' }, lookup)).toBe('fails')
    expect(evaluate({ segment: 'unknown' }, lookup)).toBe('fails')
    expect(evaluate({ '!': { segment: 'unknown' } }, lookup)).toBe('holds')
    expect(evaluate({ and: [{ segment: 'pro' }, { '!': [{ segment: 'regulars' }] }] }, lookup)).toBe('holds')
    expect(evaluate({ all: [{ var: 'context.list' }, { segment: 'pro' }] }, lookup)).toBe('holds')
  })

  it('refers to segments by key only, and nowhere but in rules', () => {
    expect(segmentsIn({ and: [{ segment: 'a' }, { '!': [{ segment: 'b' }] }] })).toEqual(['a', 'b'])
    expect(conditionProblems({ segment: 'pro' }, 'condition')).toEqual([])
    for (const argument of [{ var: 'context.key' }, ['pro'], 3, null])
      expect(conditionProblems({ segment: argument }, 'condition')).toMatchObject([{ rule: 'json_logic' }])
    expect(() => compileLogic({ segment: 'pro' })).toThrow('unknown operation segment')
  })

  it('evaluates each segment once, when it is first needed, however many a project has', () => {
    for (const total of [10, 1_000]) {
      const compiled: string[] = []
      const reads: string[] = []
      const many = Array.from({ length: total }, (_, n) => ({ ...pro, key: `s${n}` }))
      const traits = {
        get plan() {
          reads.push('plan')
          return 'pro'
        },
      }
      const lookup = lookupOf(many, { traits }, compiled)
      expect(evaluate({ and: [{ segment: 's1' }, { segment: 's1' }, { segment: 's2' }] }, lookup)).toBe(
        'holds',
      )
      expect(evaluate({ or: [{ segment: 's1' }, { segment: 's3' }] }, lookup)).toBe('holds')
      expect([compiled, reads.length]).toEqual([['s1', 's2'], 2])
    }
  })

  it('costs steps of the budget, more for long texts', () => {
    const lookup = lookupOf([pro], { traits: { plan: 'pro' } })
    const spent = (text: string) => {
      const budget = new WorkBudget()
      const before = budget.left
      const data = logicData({ traits: { text } }, lookupOf([pro]))
      compileCondition({ segment: 'pro' }).evaluate(data, budget)
      return before - budget.left
    }
    expect(spent('x'.repeat(3_200))).toBeGreaterThan(spent(''))
    expect(evaluate({ segment: 'pro' }, lookup, new WorkBudget(0, 8))).toBe('exceeded')
  })

  it('never throws, whatever the traits are', () => {
    fc.assert(
      fc.property(fc.dictionary(fc.string(), fc.jsonValue()), fc.string({ minLength: 1 }), (traits, key) => {
        const property = `traits.${key.replace(/[\\.]/g, '\\$&')}`
        const segment = { key: 's', condition: { filters: [{ property, op: 'exists' as const }] } }
        const value = Object.hasOwn(traits, key) ? traits[key] : undefined
        expect(isIn(segment, { traits })).toBe(value !== undefined && value !== null)
      }),
    )
  })
})

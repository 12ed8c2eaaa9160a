import type { Decision } from '@waymark/contracts/decision-definition'
import {
  compileDecision,
  compileSegment,
  createDecisionSet,
  createSegmentSet,
} from '@waymark/domain/decision'
import { describe, expect, it } from 'vitest'
import { flagsVersionOf } from './flags-version.ts'

type Schedule = Decision['definition']['schedule']

const aDecision = (id: string, change: Partial<Decision> = {}, schedule: Schedule = null): Decision => ({
  id,
  projectId: 'p',
  key: id,
  status: 'active',
  version: 1,
  definition: {
    name: null,
    description: null,
    variants: [],
    fallbackVariant: 'off',
    rules: [],
    holdout: 0,
    frequencyCap: null,
    schedule,
    exclusionGroup: null,
    salt: 's',
  },
  ...change,
})
const setOf = (...decisions: Decision[]) => createDecisionSet(decisions, compileDecision)
const NOW = Date.parse('2026-11-25T12:00:00Z')
const versionOf = (...decisions: Decision[]) => flagsVersionOf(setOf(...decisions), NOW)

describe('the version of flags', () => {
  const version = versionOf(aDecision('a'), aDecision('b'))

  it('is the same for the same decisions, in every process', () => {
    expect(versionOf(aDecision('a'), aDecision('b'))).toBe(version)
    expect(version).toMatch(/^[\w-]{22}$/)
  })

  it.each([
    ['a decision changes', [aDecision('a', { version: 2 }), aDecision('b')]],
    ['a decision is added', [aDecision('a'), aDecision('b'), aDecision('c')]],
    ['a decision is archived', [aDecision('a'), aDecision('b', { status: 'archived', version: 2 })]],
  ])('changes when %s', (_what, decisions) => {
    expect(versionOf(...decisions)).not.toBe(version)
  })

  it('changes when a segment changes', () => {
    const withSegment = (plan: string) => {
      const segment = { key: 's', condition: { traits: [{ trait: 'plan', op: 'eq', value: plan }] } }
      const segments = createSegmentSet([segment as never], compileSegment)
      return flagsVersionOf(createDecisionSet([aDecision('a')], compileDecision, segments), NOW)
    }
    expect(withSegment('pro')).toBe(withSegment('pro'))
    expect(withSegment('pro')).not.toBe(withSegment('free'))
  })

  it('covers the rules of all environments, and the steps of ramps', () => {
    const rule = { id: 'r', description: null, condition: null, prerequisites: [], rollout: 100 }
    const inStaging = (at: string): Decision => {
      const draft = aDecision('c', { status: 'draft' })
      const rules = [{ ...rule, variant: null, split: null, ramp: [{ at, percentage: 10 }] }]
      const environments = { staging: { status: 'active' as const, rules } }
      return { ...draft, definition: { ...draft.definition, environments } }
    }
    const [passed, future] = [inStaging('2026-11-25T12:00:00Z'), inStaging('2026-11-25T12:00:00.001Z')]
    expect(versionOf(future)).not.toBe(versionOf())
    expect(versionOf(future)).not.toBe(versionOf(passed))
    const set = setOf(future)
    expect(flagsVersionOf(set, NOW)).toBe(versionOf(future))
    expect(flagsVersionOf(set, NOW + 1)).toBe(versionOf(passed))
  })

  it('is found for a project with very many steps of ramps', () => {
    const ramp = Array.from({ length: 150_000 }, (_, step) => ({
      at: new Date(NOW + step + 1).toISOString(),
      percentage: 10,
    }))
    const rule = { id: 'r', description: null, condition: null, prerequisites: [], rollout: 100, ramp }
    const { definition, ...decision } = aDecision('a')
    const set = setOf({
      ...decision,
      definition: { ...definition, rules: [{ ...rule, variant: null, split: null }] },
    })
    const before = flagsVersionOf(set, NOW)
    expect(flagsVersionOf(set, NOW + 0.5)).toBe(before)
    expect(flagsVersionOf(set, NOW + 1)).not.toBe(before)
  })

  it('ignores drafts, which are not flags', () => {
    expect(versionOf(aDecision('a'), aDecision('b'), aDecision('c', { status: 'draft' }))).toBe(version)
  })

  it('changes at the start and the end of a schedule, and at no other time', () => {
    const start = NOW + 1_000
    const end = NOW + 2_000
    const schedule = { startsAt: new Date(start).toISOString(), endsAt: new Date(end).toISOString() }
    const set = setOf(aDecision('a', {}, schedule))
    const at = (time: number) => flagsVersionOf(set, time)
    const before = at(NOW)
    expect(at(start - 1)).toBe(before)
    const during = at(start)
    expect(at(end - 1)).toBe(during)
    const after = at(end)
    expect(at(end + 1_000_000)).toBe(after)
    expect(new Set([before, during, after]).size).toBe(3)
  })
})

import type { Decision } from '@waymark/contracts/decision-definition'
import { describe, expect, it } from 'vitest'
import { compileDecision, createDecisionSet } from './compiled-decision.ts'
import { createDecider } from './decide.ts'
import { countingIdOf, inEnvironment } from './environment.ts'

const rule = (id: string, condition: unknown = null) => ({
  id,
  description: null,
  condition,
  prerequisites: [],
  rollout: 100,
  variant: 'on',
  split: null,
})
const counting = (event: string) => ({ '>': [{ var: `counts.${event}.7d` }, 1] })
const decision = (change: Partial<Decision> = {}, key = 'd'): Decision => ({
  id: '01900000-0000-7000-8000-000000000001',
  projectId: 'p',
  key,
  status: 'active',
  version: 1,
  ...change,
  definition: {
    name: null,
    description: null,
    holdout: 0,
    frequencyCap: null,
    schedule: null,
    salt: 's',
    exclusionGroup: null,
    variants: [
      { key: 'off', value: 0, couponPoolId: null },
      { key: 'on', value: 1, couponPoolId: null },
    ],
    fallbackVariant: 'off',
    rules: [rule('live')],
    environments: {
      staging: { status: 'active', rules: [rule('tried', counting('order'))] },
      qa: { status: 'paused', rules: [rule('checked', counting('visit'))] },
    },
    ...change.definition,
  },
})

describe('a decision in an environment', () => {
  it('has the status and the rules of that environment', () => {
    const statusAndRules = (one: Decision) => [one.status, one.definition.rules.map(({ id }) => id)]
    expect(inEnvironment(decision(), 'production')).toEqual(decision())
    expect(statusAndRules(inEnvironment(decision(), 'staging'))).toEqual(['active', ['tried']])
    expect(statusAndRules(inEnvironment(decision({ status: 'draft' }), 'staging'))).toEqual([
      'active',
      ['tried'],
    ])
    expect(statusAndRules(inEnvironment(decision(), 'qa'))).toEqual(['paused', ['checked']])
  })

  it.each(['constructor', 'new'])('is off where it has no rules: %s', (environment) => {
    const { status, definition } = inEnvironment(decision(), environment)
    expect([status, definition.rules]).toEqual(['paused', []])
    expect(inEnvironment(decision({ status: 'draft' }), environment).status).toBe('draft')
  })

  it('is archived everywhere', () => {
    expect(inEnvironment(decision({ status: 'archived' }), 'staging').status).toBe('archived')
  })

  it('is evaluated by its rules there, prerequisites included', () => {
    const needs = { ...rule('second'), prerequisites: [{ decision: 'first', variants: ['on'] }] }
    const first = decision({ definition: { environments: {} } as never }, 'first')
    const second = decision(
      {
        definition: {
          rules: [needs],
          environments: { staging: { status: 'active', rules: [needs] } },
        } as never,
      },
      'second',
    )
    const production = createDecisionSet([first, second], compileDecision)
    const reasonIn = (environment: string) => {
      const set = production.in(environment)
      const compiled = set.get('second')
      if (!compiled) throw new Error('there is no second')
      const data = { traits: {}, context: {}, counts: {} }
      return createDecider(set, { projectId: 'p', subject: 's', data, days: [], now: 0 }).decide(compiled)
        .reason
    }
    expect(['production', 'staging', 'qa'].map(reasonIn)).toEqual(['TARGETING_MATCH', 'DEFAULT', 'DISABLED'])
  })

  it('has the events counted that active rules of any environment read', () => {
    const set = createDecisionSet([decision({ status: 'draft' })], compileDecision)
    for (const environment of ['production', 'staging', 'qa'])
      expect([...set.in(environment).countedEvents]).toEqual(['order'])
    expect(set.in('staging')).toBe(set.in('qa').in('staging'))
    expect(set.in('staging').active).toHaveLength(1)
    expect(set.active).toHaveLength(0)
  })

  it('is counted by another id in each environment, that of the decision in production', () => {
    const { id } = decision()
    expect(countingIdOf(id)).toBe(id)
    expect(countingIdOf(id, 'production')).toBe(id)
    expect(new Set([id, countingIdOf(id, 'staging'), countingIdOf(id, 'qa')]).size).toBe(3)
    expect(countingIdOf(id, 'staging')).toBe(countingIdOf(id, 'staging'))
  })
})

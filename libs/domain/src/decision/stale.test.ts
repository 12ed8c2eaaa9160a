import type { Decision, DecisionDefinition, DecisionRule } from '@waymark/contracts/decision-definition'
import { describe, expect, it } from 'vitest'
import { STALE_AFTER_MS, stalenessOf } from './stale.ts'
import { writeDecision } from './write-decision.ts'

const NOW = Date.parse('2026-11-28T00:00:00Z')
const LONG_AGO = new Date(NOW - STALE_AFTER_MS)
const YESTERDAY = new Date(NOW - 24 * 60 * 60 * 1_000)

const decision = (
  rules: Partial<DecisionRule>[],
  more: Partial<DecisionDefinition> = {},
  status: Decision['status'] = 'active',
): Decision => ({
  id: 'd',
  projectId: 'p',
  key: 'checkout',
  status,
  version: 1,
  states: null,
  definition: {
    ...writeDecision(
      {
        variants: [
          { key: 'off', value: false },
          { key: 'on', value: true },
        ],
        fallbackVariant: 'off',
        rules: rules.map((rule) => ({ id: 'r', variant: 'on', ...rule })),
      },
      null,
      { newRuleId: () => 'r', newSalt: () => 'salt' },
    ),
    ...more,
  },
})
const ramp = (at: number) => [
  { at: new Date(at - 1).toISOString(), percentage: 50 },
  { at: new Date(at).toISOString(), percentage: 100 },
]

describe('a stale decision', () => {
  it.each<[string, Decision, object | undefined]>([
    ['a rule for everyone', decision([{}]), { reason: 'one_variant', variant: 'on' }],
    ['no rule', decision([]), { reason: 'one_variant', variant: 'off' }],
    ['a finished ramp', decision([{ ramp: ramp(LONG_AGO.getTime()) }]), { variant: 'on' }],
    ['a ramp that has just finished', decision([{ ramp: ramp(LONG_AGO.getTime() + 1) }]), undefined],
    ['a ramp that goes on', decision([{ ramp: ramp(NOW + 1) }]), undefined],
    ['being off', decision([{ rollout: 50 }], {}, 'paused'), { reason: 'off', variant: 'off' }],
    ['a draft', decision([{}], {}, 'draft'), undefined],
    ['an archived one', decision([{}], {}, 'archived'), undefined],
    ['a rollout', decision([{ rollout: 99.99 }]), undefined],
    ['a condition', decision([{ condition: true }]), undefined],
    ['a split', decision([{ variant: null, split: [{ variant: 'on', weight: 1 }] }]), undefined],
    ['a prerequisite', decision([{ prerequisites: [{ decision: 'a', variants: ['b'] }] }]), undefined],
    ['a holdout', decision([{}], { holdout: 1 }), undefined],
    ['a schedule', decision([{}], { schedule: { startsAt: null, endsAt: null } }), undefined],
  ])('with %s', (_name, one, found) => {
    const stale = stalenessOf(one, { updatedAt: LONG_AGO, evaluatedOn: YESTERDAY }, NOW)
    if (found === undefined) expect(stale).toBeUndefined()
    else expect(stale).toMatchObject({ ...found, since: LONG_AGO.toISOString() })
  })

  it('is one only after 30 days without a change', () => {
    const updatedAt = new Date(LONG_AGO.getTime() + 1)
    expect(stalenessOf(decision([{}]), { updatedAt, evaluatedOn: YESTERDAY }, NOW)).toBeUndefined()
  })

  it('is none while a guard holds its ramp', () => {
    const stop = { at: LONG_AGO.toISOString() } as never
    const states = { production: { r: { countedFrom: LONG_AGO.toISOString(), stop } } }
    const held = { ...decision([{ ramp: ramp(LONG_AGO.getTime()) }]), states }
    expect(stalenessOf(held, { updatedAt: LONG_AGO, evaluatedOn: YESTERDAY }, NOW)).toBeUndefined()
  })

  it('is one that no request has asked for since its change 30 days ago, whatever it gives', () => {
    const rollout = decision([{ rollout: 50 }])
    const unused = { reason: 'not_evaluated', since: LONG_AGO.toISOString() }
    const before = new Date(LONG_AGO.getTime() - 1)
    const later = new Date(LONG_AGO.getTime() + 1)
    const staleness = (updatedAt: Date, evaluatedOn: Date) =>
      stalenessOf(rollout, { updatedAt, evaluatedOn }, NOW)
    expect(staleness(LONG_AGO, before)).toEqual(unused)
    expect(staleness(before, LONG_AGO)).toEqual(unused)
    expect(staleness(before, later)).toBeUndefined()
    expect(staleness(later, before)).toBeUndefined()
    expect(stalenessOf(decision([{}]), { updatedAt: LONG_AGO, evaluatedOn: LONG_AGO }, NOW)).toEqual(unused)
    expect(
      stalenessOf(decision([{}], {}, 'draft'), { updatedAt: LONG_AGO, evaluatedOn: LONG_AGO }, NOW),
    ).toBeUndefined()
  })
})

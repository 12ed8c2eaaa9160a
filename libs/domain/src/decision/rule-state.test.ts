import type { Decision, DecisionRule, RuleState, RuleStop } from '@waymark/contracts/decision-definition'
import { describe, expect, it } from 'vitest'
import { compileDecision, rolloutAt } from './compiled-decision.ts'
import { currentStepOf, hasPause, keepStates, rampStepsOf, resumed, stopsOf } from './rule-state.ts'
import { writeDecision } from './write-decision.ts'

const HOUR_MS = 60 * 60 * 1_000
const START = Date.parse('2026-11-01T00:00:00.000Z')
const at = (hours: number): string => new Date(START + hours * HOUR_MS).toISOString()

const guards = [{ metric: 'Ordered', worseThan: 10, action: 'rollback' as const }]
const ramp = [
  { at: at(0), percentage: 5 },
  { at: at(10), percentage: 25 },
  { at: at(20), percentage: 100 },
]
const definitionOf = (rule: Partial<DecisionRule> = {}) =>
  writeDecision(
    {
      variants: [
        { key: 'off', value: false },
        { key: 'on', value: true },
      ],
      fallbackVariant: 'off',
      rules: [{ id: 'r', variant: 'on', ramp, guards, ...rule }],
      metrics: [{ key: 'Ordered', eventName: 'order', kind: 'count', goal: 'up' }],
      salt: 'salt',
    },
    null,
    { newRuleId: () => 'new', newSalt: () => 'salt' },
  )
const decisionOf = (state: RuleState, rule: Partial<DecisionRule> = {}): Decision => ({
  id: 'id',
  projectId: 'project',
  key: 'd',
  status: 'active',
  version: 1,
  definition: definitionOf(rule),
  states: { production: { r: state } },
})
const stopOf = (action: RuleStop['action'], hours: number, percentage: number): RuleStop => ({
  metric: 'Ordered',
  worseThan: 10,
  action,
  at: at(hours),
  variant: 'on',
  control: 'off',
  percentage,
  people: { variant: 1_000, control: 1_000 },
  value: { variant: 0.1, control: 0.5 },
  lift: -0.8,
  interval: [-0.9, -0.7],
})
const percentageAt = (decision: Decision, hours: number): number => {
  const [rule] = compileDecision(decision).rules
  if (!rule) throw new Error('no rule')
  return rolloutAt(rule, START + hours * HOUR_MS)
}
const countedFrom = at(0)

describe('a rule with guards', () => {
  it('keeps the percentage at which it is held, and gives nobody its variant after a roll-back', () => {
    const held = decisionOf({ countedFrom, stop: stopOf('hold', 12, 25) })
    expect([5, 30].map((hours) => percentageAt(held, hours))).toEqual([25, 25])
    expect(percentageAt(decisionOf({ countedFrom, stop: stopOf('rollback', 12, 25) }), 30)).toBe(0)
    expect(
      percentageAt(
        decisionOf({ countedFrom, stop: stopOf('rollback', 1, 100) }, { ramp: undefined as never }),
        2,
      ),
    ).toBe(0)
  })

  it('is stopped in its own environment only', () => {
    const stopped = decisionOf({ countedFrom, stop: stopOf('rollback', 12, 25) })
    expect(percentageAt({ ...stopped, environment: 'staging' }, 30)).toBe(100)
  })

  it('goes on after a resume from where it was stopped', () => {
    const states = { production: { r: { countedFrom, stop: stopOf('hold', 12, 25) } } }
    const after = resumed(states, 'production', at(50))
    expect(after).toEqual({ production: { r: { countedFrom: at(50), delayMs: 38 * HOUR_MS } } })
    const decision = { ...decisionOf({ countedFrom }), states: after }
    expect([50, 57.9, 58].map((hours) => percentageAt(decision, hours))).toEqual([25, 25, 100])

    const again = resumed(
      { production: { r: { ...after.production?.r, stop: stopOf('hold', 54, 25) } as RuleState } },
      'production',
      at(55),
    )
    expect(again.production?.r).toMatchObject({ delayMs: 39 * HOUR_MS })
  })

  it('waits for the evidence of a step', () => {
    const [first, second, third] = ramp as [(typeof ramp)[0], (typeof ramp)[0], (typeof ramp)[0]]
    const steps = [{ ...first, minPeople: 100 }, second, { ...third }]
    const waiting = decisionOf({ countedFrom }, { ramp: steps })
    expect([-1, 0, 30].map((hours) => percentageAt(waiting, hours))).toEqual([0, 5, 5])
    const begun = decisionOf({ countedFrom, begun: { 1: at(40) } }, { ramp: steps })
    // The third step has no evidence to wait for, but does not begin before the second.
    expect([39, 40].map((hours) => percentageAt(begun, hours))).toEqual([5, 100])
    const rule = begun.definition.rules[0] as DecisionRule
    expect(rampStepsOf(rule, begun.states?.production?.r).map((step) => step.at - START)).toEqual([
      0,
      40 * HOUR_MS,
      40 * HOUR_MS,
    ])
    expect(currentStepOf(rule, { countedFrom }, START - 1)).toBeUndefined()
    expect(currentStepOf(rule, { countedFrom }, START + 30 * HOUR_MS)).toEqual({ index: 0, since: START })
  })

  it('counts people anew when who gets what changes, and only then', () => {
    const now = at(30)
    const before = definitionOf()
    const states = { production: { r: { countedFrom, delayMs: HOUR_MS } } }
    const keep = (after: ReturnType<typeof definitionOf>) =>
      keepStates(before, after, states, now)?.production?.r
    expect(keep(definitionOf({ description: 'other' }))).toEqual({ countedFrom, delayMs: HOUR_MS })
    expect(keep(definitionOf({ guards: [{ ...guards[0], worseThan: 20 } as never] }))).toEqual({
      countedFrom,
      delayMs: HOUR_MS,
    })
    const anew = { countedFrom: now, delayMs: 0 }
    expect(keep(definitionOf({ ramp: ramp.slice(1) }))).toEqual(anew)
    expect(keep(definitionOf({ condition: { '==': [1, 1] } }))).toEqual(anew)
    expect(keep({ ...before, salt: 'other' })).toEqual(anew)
    expect(keepStates(before, definitionOf({ guards: undefined as never }), states, now)).toBeNull()
    expect(keepStates(null, before, null, now)).toEqual({ production: { r: anew } })
  })

  it('stays stopped when its guards are removed', () => {
    const stop = stopOf('pause', 12, 25)
    const states = { production: { r: { countedFrom, stop } } }
    const kept = keepStates(definitionOf(), definitionOf({ guards: undefined as never }), states, at(30))
    expect(kept?.production?.r?.stop).toEqual(stop)
    expect(stopsOf(kept)).toEqual([{ environment: 'production', ruleId: 'r', ...stop }])
    expect([hasPause(kept, 'production'), hasPause(kept, 'staging')]).toEqual([true, false])
  })
})

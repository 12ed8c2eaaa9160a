import { describe, expect, it } from 'vitest'
import { emptyDraft, newRule } from './draft.ts'
import { changeLines, plannedChange } from './scheduled-change.ts'

describe('the form of a scheduled change', () => {
  const original = emptyDraft()
  const split = [
    { variant: 'off', weight: 1 },
    { variant: 'on', weight: 3 },
  ]
  const weights = { [original.variants[1]?.id ?? '']: 3 }
  const rules = original.rules.map((rule) => ({ ...rule, rollout: 25, weights }))

  it('changes only what was edited', () => {
    const unchanged = { status: '' as const, rules: original.rules }
    expect(plannedChange(original, unchanged, 'production')).toEqual({})
    expect(plannedChange(original, unchanged, 'staging')).toEqual({})
    expect(plannedChange(original, { ...unchanged, status: 'paused' }, 'production')).toEqual({
      status: 'paused',
    })
    expect(plannedChange(original, { status: '', rules }, 'production')).toEqual({
      rules: [{ rollout: 25, split }],
    })
  })

  it('leaves rules out whose values are the same again', () => {
    const same = original.rules.map((rule) => ({ ...rule }))
    expect(plannedChange(original, { status: '', rules: same }, 'production')).toEqual({})
  })

  it('is one of the environment that it was made in', () => {
    const change = plannedChange(original, { status: 'active', rules: original.rules }, 'staging')
    expect(change).toEqual({ environments: { staging: { status: 'active' } } })
  })

  it('has a ramp in place of a rollout', () => {
    const ramp = [{ id: 'new-1', at: '2026-12-24T18:00:00.000Z', percentage: 10, minPeople: 0 }]
    const plan = { status: '' as const, rules: [{ ...newRule(), variant: 'on', ramp }] }
    expect(plannedChange(original, plan, 'production')).toEqual({
      rules: [{ variant: 'on', ramp: [{ at: '2026-12-24T18:00:00.000Z', percentage: 10 }] }],
    })
  })
})

describe('a scheduled change in words', () => {
  it.each([
    [{ status: 'active', holdout: 5 }, ['turned on', 'holdout: 5']],
    [{ status: 'archived', name: null, version: 3 }, ['archived', 'name: null']],
    [{ rules: [{ rollout: 25, variant: 'on' }] }, ['rule 1: 25% of people get on']],
    [
      {
        rules: [
          {
            split: [
              { variant: 'off', weight: 1 },
              { variant: 'on', weight: 3 },
            ],
            ramp: [{ percentage: 5 }, { percentage: 50 }],
          },
        ],
      },
      ['rule 1: up to 50% of people get off 1, on 3'],
    ],
    [
      { environments: { staging: { status: 'paused' }, preview: null } },
      ['staging: turned off', 'preview: removed'],
    ],
    [{ variants: [], description: 'x' }, ['variants', 'description: x']],
    [{}, []],
  ])('%j', (change, lines) => {
    expect(changeLines(change)).toEqual(lines)
  })
})

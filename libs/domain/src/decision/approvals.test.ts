import { type Approvals, approverRoles } from '@waymark/contracts/approvals'
import type { DecisionDefinition, DecisionStatus } from '@waymark/contracts/decision-definition'
import { describe, expect, it } from 'vitest'
import { affectedEnvironments, approvalsFor } from './approvals.ts'
import { writeDecision } from './write-decision.ts'

const ENVIRONMENTS = ['production', 'staging', 'preview']

const rule = { id: 'r', variant: 'on', rollout: 50 }
const definition = (more: Partial<DecisionDefinition> = {}): DecisionDefinition => ({
  ...writeDecision(
    {
      variants: [
        { key: 'off', value: false },
        { key: 'on', value: true },
      ],
      fallbackVariant: 'off',
      rules: [rule],
      environments: { staging: { status: 'active', rules: [rule] } },
    },
    null,
    { newRuleId: () => 'r', newSalt: () => 'salt' },
  ),
  ...more,
})
const content = (status: DecisionStatus, more: Partial<DecisionDefinition> = {}) => ({
  status,
  definition: definition(more),
})
const inStaging = (status: 'active' | 'paused', rules: object[] = definition().rules) => ({
  environments: { staging: { status, rules } } as NonNullable<DecisionDefinition['environments']>,
})

describe('the environments that a change affects', () => {
  const active = content('active')
  it.each([
    ['nothing', active, content('active'), []],
    ['rules of production', active, content('active', { rules: [] }), ['production']],
    ['rules of staging', active, content('active', inStaging('active', [])), ['staging']],
    ['the entry of staging', active, content('active', { environments: {} }), ['staging']],
    ['variants', active, content('active', { fallbackVariant: 'on' }), ENVIRONMENTS],
    ['the holdout', active, content('active', { holdout: 5 }), ENVIRONMENTS],
    ['metrics, which guards measure', active, content('active', { metrics: [{} as never] }), ENVIRONMENTS],
    ['names', active, content('active', { name: 'A', description: 'B' }), []],
    ['owner and tags', active, content('active', { owner: 'Team', tags: ['sale'] }), []],
    ['turning it off', active, content('paused'), []],
    ['turning it off in staging', active, content('active', inStaging('paused')), []],
    ['turning it off with other rules', active, content('paused', { rules: [] }), ['production']],
    ['turning it on', content('paused'), active, ['production']],
    ['turning it on in staging', content('active', inStaging('paused')), active, ['staging']],
    ['turning a draft off', content('draft'), content('paused'), []],
    ['archiving', active, content('archived'), ENVIRONMENTS],
    ['making it a draft again', active, content('draft'), ['production']],
    ['a paused one becoming a draft', content('paused'), content('draft'), ['production']],
    ['rules of a paused one', content('paused'), content('paused', { rules: [] }), ['production']],
    ['a draft that staging has active', content('draft'), content('draft', { holdout: 5 }), ENVIRONMENTS],
    [
      'a draft that is active nowhere',
      content('draft', inStaging('paused')),
      content('draft', { ...inStaging('paused', []), fallbackVariant: 'on' }),
      [],
    ],
    ['archiving such a draft', content('draft', inStaging('paused')), content('archived'), ENVIRONMENTS],
    ['a new draft', null, content('draft', inStaging('paused')), []],
    ['a new paused one', null, content('paused', inStaging('paused')), []],
    ['a new active one', null, active, ['production', 'staging']],
  ])('%s', (_name, before, after, affected) => {
    expect(affectedEnvironments(ENVIRONMENTS, before, after)).toEqual(affected)
  })

  it('are those of a draft as well, when decisions depend on it', () => {
    const after = content('draft', { ...inStaging('paused'), fallbackVariant: 'on' })
    const before = content('draft', inStaging('paused'))
    const isPrerequisite = true
    expect(affectedEnvironments(ENVIRONMENTS, before, after, { isPrerequisite })).toEqual(ENVIRONMENTS)
  })

  it('does not depend on the order of fields', () => {
    const stored = Object.fromEntries(Object.entries(definition()).toReversed()) as DecisionDefinition
    expect(affectedEnvironments(ENVIRONMENTS, active, { status: 'active', definition: stored })).toEqual([])
  })
})

describe('the approvals of a change', () => {
  const needed = (settings: Approvals | undefined, affected = ENVIRONMENTS) =>
    approvalsFor(settings, affected)

  it('are those of the project, in the environments that have none of their own', () => {
    expect(needed(undefined)).toEqual([])
    expect(needed({ roles: ['admin'] })).toEqual([])
    expect(needed({ required: 2 })).toEqual([
      { required: 2, roles: approverRoles, environments: ENVIRONMENTS },
    ])
    expect(
      needed({ required: 1, environments: { production: { required: 2, roles: ['admin', 'owner'] } } }),
    ).toEqual([
      { required: 2, roles: ['admin', 'owner'], environments: ['production'] },
      { required: 1, roles: approverRoles, environments: ['staging', 'preview'] },
    ])
  })

  it('are those of an environment alone, where the project has none', () => {
    const settings = { environments: { production: { required: 1 } } }
    expect(needed(settings)).toMatchObject([{ environments: ['production'] }])
    expect(needed(settings, ['staging'])).toEqual([])
  })

  it('do not come from the prototype of an object', () => {
    expect(needed({ environments: {} }, ['constructor'])).toEqual([])
  })
})

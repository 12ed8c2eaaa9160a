import { randomUUID } from 'node:crypto'
import {
  activateDecision,
  archiveDecision,
  createDecision,
  decide,
  evaluateFlag,
  evaluateFlags,
  getDecision,
  getDecisionHistory,
  getDecisionResults,
  getDecisionStats,
  listDecisions,
  type Operation,
  pauseDecision,
  previewDecision,
  replaceDecision,
  reportExposures,
  rollbackDecision,
  updateDecision,
} from '@waymark/contracts'
import { eventually } from '@waymark/testing'
import type { Example } from './example.ts'
import type { Call, World } from './world.ts'

const parts = () => ({
  variants: [
    { key: 'off', value: false },
    { key: 'on', value: true },
  ],
  fallbackVariant: 'off',
  rules: [{ condition: { '==': [{ var: 'context.plan' }, 'pro'] }, rollout: 50, variant: 'on' }],
})
const aDecision = () => ({ key: `decision-${randomUUID()}`, ...parts() })
const someone = { context: { targetingKey: 'v' } }

const newDecision = async ({ call }: World, more: object = {}) => {
  const body = { ...aDecision(), ...more }
  await call(createDecision, { body })
  return { key: body.key }
}
const archived = async (world: World) => {
  const params = await newDecision(world)
  await world.call(archiveDecision, { params })
  return params
}
/** A decision that every process applies. */
const knownDecision = async (world: World) => {
  const params = await newDecision(world, { status: 'active' })
  await eventually('it is known', async () => {
    const { status } = await world.call(evaluateFlag, { params, body: someone })
    return status !== 404
  })
  return params
}

/** An operation on a new decision, because archived ones cannot be changed. */
const onOne = (operation: Operation, call: Call = {}, changes = false): Example => ({
  operation,
  good: async (world) => ({ ...call, params: await newDecision(world) }),
  ...(changes && { others: { 409: async (world) => ({ ...call, params: await archived(world) }) } }),
})

export const decisionExamples: Example[] = [
  { operation: decide, good: () => ({ body: { visitorId: 'v' } }), goesOn: true },
  {
    operation: evaluateFlag,
    good: async (world) => ({ params: await knownDecision(world), body: someone }),
    others: { 404: () => ({ params: { key: 'nobody-knows' }, body: someone }) },
    goesOn: true,
  },
  { operation: evaluateFlags, good: () => ({ body: someone }), goesOn: true },
  {
    operation: reportExposures,
    good: async (world) => {
      const { key } = await knownDecision(world)
      return { body: { exposures: [{ key, variant: 'on', visitorId: 'v' }] } }
    },
    goesOn: true,
  },
  { operation: createDecision, good: () => ({ body: aDecision() }) },
  { operation: listDecisions, good: () => ({ query: { limit: '2', status: 'draft' } }) },
  onOne(getDecision),
  onOne(replaceDecision, { body: parts() }, true),
  onOne(updateDecision, { body: { holdout: 5 } }, true),
  onOne(activateDecision, {}, true),
  onOne(pauseDecision, {}, true),
  onOne(archiveDecision, {}, true),
  onOne(getDecisionHistory),
  onOne(rollbackDecision, { body: { version: 1 } }, true),
  onOne(previewDecision, { body: { visitorId: 'v', context: { plan: 'pro' } } }),
  onOne(getDecisionResults, { query: { history: 'true' } }),
  {
    ...onOne(getDecisionStats),
    others: { 422: async (world) => ({ params: await newDecision(world), query: { selectorId: 'none' } }) },
  },
]

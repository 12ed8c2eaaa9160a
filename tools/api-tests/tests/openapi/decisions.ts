import { randomUUID } from 'node:crypto'
import { backtestDecision, backtestSegment } from '@waymark/contracts/http/backtests'
import { listCodeReferences, replaceCodeReferences } from '@waymark/contracts/http/code-references'
import {
  decide,
  evaluateFlag,
  evaluateFlags,
  getFlagDefinitions,
  reportExposures,
  streamFlagChanges,
} from '@waymark/contracts/http/decide'
import {
  activateDecision,
  archiveDecision,
  cancelScheduledChange,
  createDecision,
  getDecision,
  getDecisionHistory,
  getDecisionResults,
  getDecisionStats,
  getDecisionVersion,
  listDecisions,
  listScheduledChanges,
  pauseDecision,
  previewDecision,
  replaceDecision,
  restoreDecision,
  resumeDecision,
  rollbackDecision,
  scheduleChange,
  updateDecision,
} from '@waymark/contracts/http/decisions'
import { createEnvironment, deleteEnvironment, listEnvironments } from '@waymark/contracts/http/environments'
import type { Operation } from '@waymark/contracts/http/operation'
import { postHogDecide, postHogFlags } from '@waymark/contracts/http/posthog-protocol'
import {
  approveProposal,
  bypassProposal,
  createProposal,
  getProposal,
  listProposals,
  rejectProposal,
  updateProposal,
  withdrawProposal,
} from '@waymark/contracts/http/proposals'
import {
  createSegment,
  deleteSegment,
  getSegment,
  listSegments,
  previewSegment,
  updateSegment,
} from '@waymark/contracts/http/segments'
import { eventually } from '@waymark/testing'
import { byMember, type Example, stringIn } from './example.ts'
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
const condition = { filters: [{ property: 'traits.plan', op: 'eq', value: 'pro' }] }
const aSegment = () => ({ key: `segment-${randomUUID()}`, name: 'Regulars', condition })
const newSegment = async ({ call }: World) => {
  const body = aSegment()
  await call(createSegment, { body })
  return { key: body.key }
}
/** A segment that a rule refers to. */
const usedSegment = async (world: World) => {
  const params = await newSegment(world)
  await newDecision(world, { rules: [{ condition: { segment: params.key }, variant: 'on' }] })
  return { params }
}
const archived = async (world: World) => {
  const params = await newDecision(world)
  await world.call(archiveDecision, { params })
  return params
}
/** A change in an hour. */
const later = (change: object = {}) => ({
  at: new Date(Date.now() + 3_600_000).toISOString(),
  change: { status: 'active', ...change },
})
/** A proposal by a key, which anyone may approve. */
const newProposal = async (world: World) => {
  const params = await newDecision(world)
  const { body } = await world.call(createProposal, { params, body: { change: { holdout: 5 } } })
  return { params: { ...params, id: stringIn(body, 'id') } }
}
const withdrawn = async (world: World) => {
  const call = await newProposal(world)
  await world.call(withdrawProposal, call)
  return call
}
const reviewExample = (operation: Operation, body: object): Example => ({
  operation,
  good: async (world) => byMember(world, { ...(await newProposal(world)), body: { revision: 1, ...body } }),
  others: {
    409: async (world) => byMember(world, { ...(await withdrawn(world)), body: { revision: 1, ...body } }),
    412: async (world) => byMember(world, { ...(await newProposal(world)), body: { revision: 2, ...body } }),
  },
})
const onScheduled = async (world: World): Promise<Call> => {
  const params = await newDecision(world)
  const { body } = await world.call(scheduleChange, { params, body: later() })
  return { params: { ...params, id: stringIn(body, 'id') } }
}
/** A decision whose first version depends on another one, which is archived now. */
const changedFromArchived = async (world: World) => {
  const other = await newDecision(world)
  const prerequisites = [{ decision: other.key, variants: ['on'] }]
  const params = await newDecision(world, { rules: [{ variant: 'on', prerequisites }] })
  await world.call(updateDecision, { params, body: { rules: [] } })
  await world.call(archiveDecision, { params: other })
  return params
}
/** Other requests may have created as many as a project may have. */
const deleteOwnEnvironments = async ({ call }: World) => {
  const { body } = await call(listEnvironments)
  for (const { key, builtIn } of (body as { environments: { key: string; builtIn: boolean }[] }).environments)
    if (!builtIn) await call(deleteEnvironment, { params: { key } })
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
  ...[postHogFlags, postHogDecide].map((operation) => ({
    operation,
    good: () => ({ body: { distinct_id: 'v' } }),
    others: { 415: () => ({ body: {}, headers: { 'Content-Encoding': 'unknown' } }) },
    goesOn: true as const,
  })),
  { operation: streamFlagChanges, good: () => ({}), goesOn: true },
  { operation: getFlagDefinitions, good: () => ({}), goesOn: true },
  {
    operation: reportExposures,
    good: async (world) => {
      const { key } = await knownDecision(world)
      return { body: { exposures: [{ key, variant: 'on', visitorId: 'v' }] } }
    },
    goesOn: true,
  },
  { operation: listEnvironments, good: () => ({}) },
  {
    operation: createEnvironment,
    good: async (world) => {
      await deleteOwnEnvironments(world)
      return { body: { key: 'preview' } }
    },
  },
  {
    operation: deleteEnvironment,
    good: async (world) => {
      await deleteOwnEnvironments(world)
      await world.call(createEnvironment, { body: { key: 'short-lived' } })
      return { params: { key: 'short-lived' } }
    },
    others: { 409: () => ({ params: { key: 'staging' } }) },
  },
  { operation: createDecision, good: () => ({ body: aDecision() }) },
  { operation: listDecisions, good: () => ({ query: { limit: '2', status: 'draft' } }) },
  onOne(getDecision),
  onOne(replaceDecision, { body: parts() }, true),
  onOne(updateDecision, { body: { holdout: 5 } }, true),
  onOne(activateDecision, {}, true),
  onOne(pauseDecision, {}, true),
  {
    operation: resumeDecision,
    good: async (world) => {
      const params = await newDecision(world)
      await world.stopDecision(params.key)
      return { params, body: { reason: 'It was something else' } }
    },
    others: { 409: async (world) => ({ params: await newDecision(world), body: { reason: 'It runs' } }) },
  },
  onOne(archiveDecision, {}, true),
  onOne(getDecisionHistory),
  {
    operation: getDecisionVersion,
    good: async (world) => ({ params: { ...(await newDecision(world)), version: '1' } }),
  },
  {
    operation: restoreDecision,
    good: async (world) => ({ params: { ...(await newDecision(world)), version: '1' } }),
    others: {
      409: async (world) => ({ params: { ...(await archived(world)), version: '1' } }),
      422: async (world) => ({ params: { ...(await changedFromArchived(world)), version: '1' } }),
    },
  },
  onOne(rollbackDecision, { body: { version: 1 } }, true),
  {
    operation: scheduleChange,
    good: async (world) => ({ params: await newDecision(world), body: later() }),
    others: {
      409: async (world) => ({ params: await archived(world), body: later() }),
      412: async (world) => ({ params: await newDecision(world), body: later({ version: 7 }) }),
    },
  },
  onOne(listScheduledChanges, { query: { limit: '2', status: 'pending' } }),
  {
    operation: cancelScheduledChange,
    good: (world) => onScheduled(world),
    others: {
      409: async (world) => {
        const call = await onScheduled(world)
        await world.call(cancelScheduledChange, call)
        return call
      },
    },
  },
  {
    operation: createProposal,
    good: async (world) => ({
      params: await newDecision(world),
      body: { change: { holdout: 5 }, comment: 'Measure all discounts' },
    }),
    others: {
      409: async (world) => ({ params: await archived(world), body: { restore: 1 } }),
      412: async (world) => ({ params: await newDecision(world), body: { change: { version: 7 } } }),
    },
  },
  { operation: listProposals, good: () => ({ query: { limit: '2', status: 'open' } }) },
  { operation: getProposal, good: newProposal },
  {
    operation: updateProposal,
    good: async (world) => ({ ...(await newProposal(world)), body: { change: { holdout: 10 } } }),
    others: { 409: async (world) => ({ ...(await withdrawn(world)), body: {} }) },
  },
  { operation: withdrawProposal, good: newProposal, others: { 409: withdrawn } },
  reviewExample(approveProposal, { comment: 'Fine' }),
  reviewExample(rejectProposal, { comment: 'Wait until the sale is over' }),
  reviewExample(bypassProposal, { reason: 'Orders fail' }),
  {
    operation: replaceCodeReferences,
    good: async (world) => ({
      body: {
        repository: 'shop',
        references: [{ decision: (await newDecision(world)).key, file: 'src/shop.ts', line: 7 }],
      },
    }),
  },
  onOne(listCodeReferences, { query: { limit: '2' } }),
  onOne(backtestDecision, { body: { days: 1 } }),
  onOne(previewDecision, { body: { visitorId: 'v', context: { plan: 'pro' } } }),
  onOne(getDecisionResults, { query: { history: 'true' } }),
  {
    ...onOne(getDecisionStats),
    others: { 422: async (world) => ({ params: await newDecision(world), query: { selectorId: 'none' } }) },
  },
  { operation: createSegment, good: () => ({ body: aSegment() }) },
  { operation: listSegments, good: () => ({ query: { limit: '2' } }) },
  { operation: getSegment, good: async (world) => ({ params: await newSegment(world) }) },
  {
    operation: updateSegment,
    good: async (world) => ({ params: await newSegment(world), body: { name: 'Regular customers' } }),
  },
  {
    operation: deleteSegment,
    good: async (world) => ({ params: await newSegment(world) }),
    others: { 409: usedSegment },
  },
  {
    operation: backtestSegment,
    good: async (world) => ({ params: await newSegment(world), body: { days: 2 } }),
  },
  { operation: previewSegment, good: () => ({ body: { condition } }), goesOn: true },
]

import { randomUUID } from 'node:crypto'
import {
  createAlert,
  deleteAlert,
  getAlert,
  listAlertHistory,
  listAlerts,
  muteAlert,
  unmuteAlert,
  updateAlert,
} from '@waymark/contracts/http/alerts'
import {
  listProperties,
  listPropertyValues,
  measureFunnel,
  measurePaths,
  measureRetention,
  measureTrends,
} from '@waymark/contracts/http/analytics'
import { createAnnotation, deleteAnnotation, listAnnotations } from '@waymark/contracts/http/annotations'
import { exportEvents } from '@waymark/contracts/http/events'
import {
  createDashboard,
  createInsight,
  deleteDashboard,
  deleteInsight,
  getDashboard,
  getInsight,
  listDashboards,
  listInsights,
  updateDashboard,
  updateInsight,
} from '@waymark/contracts/http/insights'
import type { Operation } from '@waymark/contracts/http/operation'
import { requestExamples } from '@waymark/contracts/http/request-examples'
import {
  createShare,
  getShare,
  getShared,
  listShares,
  measureShared,
  measureSharedWeb,
  revokeShare,
  unlockShared,
  updateShare,
} from '@waymark/contracts/http/shares'
import {
  createSubscription,
  deleteSubscription,
  getSubscription,
  listSubscriptions,
  resubscribe,
  testSubscription,
  updateSubscription,
} from '@waymark/contracts/http/subscriptions'
import { measureWeb } from '@waymark/contracts/http/web-analytics'
import { byMember, type Example, stringIn, type Way } from './example.ts'
import type { Call, World } from './world.ts'

const newInsight = async ({ call }: World): Promise<Call & { params: { id: string } }> => {
  const made = await call(createInsight, { body: requestExamples.createInsight })
  return { params: { id: stringIn(made.body, 'id') } }
}
const newDashboard = async ({ call }: World): Promise<Call & { params: { id: string } }> => {
  const made = await call(createDashboard, { body: requestExamples.createDashboard })
  return { params: { id: stringIn(made.body, 'id') } }
}

const newAnnotation = async ({ call }: World): Promise<Call & { params: { id: string } }> => {
  const made = await call(createAnnotation, { body: requestExamples.createAnnotation })
  return { params: { id: stringIn(made.body, 'id') } }
}
const watching = { name: 'Orders', condition: { type: 'unusual' }, interval: 'day' }
const newAlert = async ({ call }: World): Promise<Call & { params: { id: string } }> => {
  const made = await call(createAlert, { body: requestExamples.createAlert })
  return { params: { id: stringIn(made.body, 'id') } }
}
const subscriptionBody = async (world: World) => ({
  ...(requestExamples.createSubscription as object),
  dashboardId: (await newDashboard(world)).params.id,
})
const newSubscription = async (world: World): Promise<Call & { params: { id: string } }> => {
  const made = await world.call(createSubscription, { body: await subscriptionBody(world) })
  return { params: { id: stringIn(made.body, 'id') } }
}
const ownSubscription: Way = async (world) => byMember(world, await newSubscription(world))
const newShare = async ({ call }: World): Promise<Call & { params: { id: string } }> => {
  const made = await call(createShare, { body: requestExamples.createShare })
  return { params: { id: stringIn(made.body, 'id') } }
}
const PASSWORD = 'open sesame'
/** The parameter of a secret link that was just created. */
const secretOf = async ({ call }: World, body: object): Promise<{ key: string }> => {
  const made = await call(createShare, { body: { name: 'For the press', kind: 'web', ...body } })
  return { key: stringIn(made.body, 'secret') }
}
/** Without a credential, as visitors are. */
const asVisitor = (params: Record<string, string>, call: Call = {}): Call => ({ key: null, ...call, params })
const unknownLink = (call: Call = {}): Call => asVisitor({ key: 'x'.repeat(43), id: randomUUID() }, call)
const lockedLink =
  (call: Call = {}): Way =>
  async (world) =>
    asVisitor({ ...(await secretOf(world, { password: PASSWORD })), id: randomUUID() }, call)
const range = { from: '2026-01-01T00:00:00Z', to: '2026-01-31T00:00:00Z' }
const sharedInsight: Way = async (world) => {
  const insightId = (await newInsight(world)).params.id
  const dashboard = await world.call(createDashboard, { body: { name: 'Shop', insightIds: [insightId] } })
  const dashboardId = stringIn(dashboard.body, 'id')
  return asVisitor(
    { ...(await secretOf(world, { kind: 'dashboard', dashboardId })), id: insightId },
    { body: range },
  )
}

/** A query that does not need the database. */
const queryExample = (operation: Operation): Example => ({
  operation,
  good: () => ({ body: requestExamples[operation.id] }),
  goesOn: true,
})

export const analyticsExamples: Example[] = [
  ...[measureTrends, measureFunnel, measureRetention, measurePaths, measureWeb].map(queryExample),
  { operation: listProperties, good: () => ({ query: { limit: '2' } }), goesOn: true },
  { operation: listPropertyValues, good: () => ({ query: { property: 'properties.plan' } }), goesOn: true },
  {
    operation: exportEvents,
    good: () => ({ query: { format: 'csv', eventName: 'page_view' } }),
    goesOn: true,
  },
  { operation: createInsight, good: () => ({ body: requestExamples.createInsight }) },
  { operation: listInsights, good: () => ({ query: { limit: '2' } }) },
  { operation: getInsight, good: newInsight },
  {
    operation: updateInsight,
    good: async (world) => ({ ...(await newInsight(world)), body: { name: 'New' } }),
  },
  {
    operation: deleteInsight,
    good: newInsight,
    others: {
      409: async (world) => {
        const { params } = await newInsight(world)
        const alert = { ...watching, measure: { insightId: params.id } }
        await world.call(createAlert, { body: alert })
        return { params }
      },
    },
  },
  {
    operation: createDashboard,
    good: async (world) => ({
      body: { name: 'Shop', insightIds: [(await newInsight(world)).params.id] },
    }),
  },
  { operation: listDashboards, good: () => ({ query: { limit: '2' } }) },
  { operation: getDashboard, good: newDashboard },
  {
    operation: updateDashboard,
    good: async (world) => ({ ...(await newDashboard(world)), body: { name: 'New' } }),
  },
  { operation: deleteDashboard, good: newDashboard },
  { operation: createSubscription, good: async (world) => ({ body: await subscriptionBody(world) }) },
  { operation: listSubscriptions, good: () => ({ query: { limit: '2' } }) },
  { operation: getSubscription, good: newSubscription },
  {
    operation: updateSubscription,
    good: async (world) => ({
      ...(await newSubscription(world)),
      body: requestExamples.updateSubscription,
    }),
  },
  { operation: deleteSubscription, good: newSubscription },
  { operation: testSubscription, good: ownSubscription },
  { operation: resubscribe, good: ownSubscription },
  { operation: createAlert, good: () => ({ body: requestExamples.createAlert }) },
  { operation: listAlerts, good: () => ({ query: { limit: '2' } }) },
  { operation: getAlert, good: newAlert },
  {
    operation: updateAlert,
    good: async (world) => ({ ...(await newAlert(world)), body: requestExamples.updateAlert }),
  },
  { operation: deleteAlert, good: newAlert },
  {
    operation: muteAlert,
    good: async (world) => ({ ...(await newAlert(world)), body: requestExamples.muteAlert }),
  },
  { operation: unmuteAlert, good: newAlert },
  {
    operation: listAlertHistory,
    good: async (world) => ({ ...(await newAlert(world)), query: { changes: 'true', limit: '2' } }),
  },
  { operation: createAnnotation, good: () => ({ body: requestExamples.createAnnotation }) },
  {
    operation: listAnnotations,
    good: () => ({ query: range }),
    others: { 422: () => ({ query: { from: range.to, to: range.from } }) },
  },
  { operation: deleteAnnotation, good: newAnnotation },
  { operation: createShare, good: () => ({ body: requestExamples.createShare }) },
  { operation: listShares, good: () => ({ query: { limit: '2' } }) },
  { operation: getShare, good: newShare },
  {
    operation: updateShare,
    good: async (world) => ({ ...(await newShare(world)), body: requestExamples.updateShare }),
  },
  { operation: revokeShare, good: newShare },
  {
    operation: getShared,
    good: async (world) => asVisitor(await secretOf(world, {})),
    others: { 403: lockedLink(), 404: () => unknownLink() },
  },
  {
    operation: unlockShared,
    good: async (world) =>
      asVisitor(await secretOf(world, { password: PASSWORD }), { body: { password: PASSWORD } }),
    others: {
      403: lockedLink({ body: { password: 'open barley' } }),
      404: () => unknownLink({ body: { password: PASSWORD } }),
    },
  },
  {
    operation: measureShared,
    good: sharedInsight,
    others: { 403: lockedLink({ body: range }), 404: () => unknownLink({ body: range }) },
  },
  {
    operation: measureSharedWeb,
    good: async (world) => asVisitor(await secretOf(world, {}), { body: range }),
    others: { 403: lockedLink({ body: range }), 404: () => unknownLink({ body: range }) },
  },
]

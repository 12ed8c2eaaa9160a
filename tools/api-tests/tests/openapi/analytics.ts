import {
  listProperties,
  listPropertyValues,
  measureFunnel,
  measurePaths,
  measureRetention,
  measureTrends,
} from '@waymark/contracts/http/analytics'
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
import { measureWeb } from '@waymark/contracts/http/web-analytics'
import { type Example, stringIn } from './example.ts'
import type { Call, World } from './world.ts'

const newInsight = async ({ call }: World): Promise<Call & { params: { id: string } }> => {
  const made = await call(createInsight, { body: requestExamples.createInsight })
  return { params: { id: stringIn(made.body, 'id') } }
}
const newDashboard = async ({ call }: World): Promise<Call & { params: { id: string } }> => {
  const made = await call(createDashboard, { body: requestExamples.createDashboard })
  return { params: { id: stringIn(made.body, 'id') } }
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
  { operation: exportEvents, good: () => ({ query: { format: 'csv', eventName: 'page_view' } }) },
  { operation: createInsight, good: () => ({ body: requestExamples.createInsight }) },
  { operation: listInsights, good: () => ({ query: { limit: '2' } }) },
  { operation: getInsight, good: newInsight },
  {
    operation: updateInsight,
    good: async (world) => ({ ...(await newInsight(world)), body: { name: 'New' } }),
  },
  { operation: deleteInsight, good: newInsight },
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
]

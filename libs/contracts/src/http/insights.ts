import { Type } from 'typebox'
import { Id, Name, openObject, Timestamp } from '../schema-parts.ts'
import { compileValidator } from '../validator.ts'
import { MAX_QUERY_BYTES, savedQueries } from './analytics.ts'
import { orderedIds } from './analytics-parts.ts'
import { closeObjects } from './close-objects.ts'
import { ErrorBody } from './error-bodies.ts'
import { defineOperation } from './operation.ts'
import { PageQuery, pageOf } from './page.ts'

/** The kinds of insights. */
export const insightKinds = ['trends', 'funnel', 'retention', 'paths'] as const
export type InsightKind = (typeof insightKinds)[number]

/** Maximum insights of a dashboard. */
export const MAX_DASHBOARD_INSIGHTS = 50

/** Checks the query of an insight of each kind. */
export const savedQueryValidators = {
  trends: compileValidator(closeObjects(savedQueries.trends)),
  funnel: compileValidator(closeObjects(savedQueries.funnel)),
  retention: compileValidator(closeObjects(savedQueries.retention)),
  paths: compileValidator(closeObjects(savedQueries.paths)),
}

const Kind = Type.Unsafe<InsightKind>({ type: 'string', enum: insightKinds })
const Query = openObject(
  'The body of `POST analytics/<kind>`. Without `from` and `to` its reader chooses the range. At most ' +
    `${MAX_QUERY_BYTES} bytes.`,
)
const NewInsight = Type.Object({ name: Name, kind: Kind, query: Query })
const InsightPatch = Type.Partial(NewInsight)
const version = Type.Integer({ description: 'The number of changes.' })
export const InsightView = Type.Object({
  id: Id,
  name: Type.String(),
  kind: Kind,
  query: Query,
  version,
  createdAt: Timestamp,
  updatedAt: Timestamp,
})

const NewDashboard = Type.Object({
  name: Name,
  insightIds: orderedIds(MAX_DASHBOARD_INSIGHTS, 'The ids of insights, in display order.'),
})
const DashboardPatch = Type.Partial(NewDashboard)
export const DashboardView = Type.Object({
  id: Id,
  name: Type.String(),
  insightIds: Type.Array(Id),
  version,
  createdAt: Timestamp,
  updatedAt: Timestamp,
})

const tag = 'Insights and dashboards'
const viewer = { by: 'project', role: 'viewer' } as const
const editor = { by: 'project', role: 'editor' } as const
const insights = '/api/projects/{projectId}/insights'
const dashboards = '/api/projects/{projectId}/dashboards'
const insight = { description: 'The insight', schema: InsightView }
const dashboard = { description: 'The dashboard', schema: DashboardView }

export const createInsight = defineOperation({
  id: 'createInsight',
  method: 'post',
  path: insights,
  tag,
  summary: 'Save a query',
  access: editor,
  effects: [],
  body: NewInsight,
  answers: { 201: insight },
})

export const listInsights = defineOperation({
  id: 'listInsights',
  method: 'get',
  path: insights,
  tag,
  summary: 'List insights',
  access: viewer,
  query: PageQuery,
  answers: { 200: { description: 'A page of insights, the newest first', schema: pageOf(InsightView) } },
})

export const getInsight = defineOperation({
  id: 'getInsight',
  method: 'get',
  path: `${insights}/{id}`,
  tag,
  summary: 'Read an insight',
  access: viewer,
  answers: { 200: insight },
})

export const updateInsight = defineOperation({
  id: 'updateInsight',
  method: 'patch',
  path: `${insights}/{id}`,
  tag,
  summary: 'Change an insight',
  access: editor,
  effects: [],
  body: InsightPatch,
  answers: { 200: insight },
})

export const deleteInsight = defineOperation({
  id: 'deleteInsight',
  method: 'delete',
  path: `${insights}/{id}`,
  tag,
  summary: 'Delete an insight',
  description: 'It is removed from all dashboards. Refused while an alert watches it.',
  access: editor,
  effects: [],
  answers: {
    204: { description: 'Deleted' },
    409: { description: 'An alert watches it', schema: ErrorBody },
  },
})

export const createDashboard = defineOperation({
  id: 'createDashboard',
  method: 'post',
  path: dashboards,
  tag,
  summary: 'Create a dashboard',
  access: editor,
  effects: [],
  body: NewDashboard,
  answers: { 201: dashboard },
})

export const listDashboards = defineOperation({
  id: 'listDashboards',
  method: 'get',
  path: dashboards,
  tag,
  summary: 'List dashboards',
  access: viewer,
  query: PageQuery,
  answers: { 200: { description: 'A page of dashboards, the newest first', schema: pageOf(DashboardView) } },
})

export const getDashboard = defineOperation({
  id: 'getDashboard',
  method: 'get',
  path: `${dashboards}/{id}`,
  tag,
  summary: 'Read a dashboard',
  access: viewer,
  answers: { 200: dashboard },
})

export const updateDashboard = defineOperation({
  id: 'updateDashboard',
  method: 'patch',
  path: `${dashboards}/{id}`,
  tag,
  summary: 'Change a dashboard',
  access: editor,
  effects: [],
  body: DashboardPatch,
  answers: { 200: dashboard },
})

export const deleteDashboard = defineOperation({
  id: 'deleteDashboard',
  method: 'delete',
  path: `${dashboards}/{id}`,
  tag,
  summary: 'Delete a dashboard',
  description: 'Its insights are kept. Its subscriptions and shared links are deleted.',
  access: editor,
  effects: [],
  answers: { 204: { description: 'Deleted' } },
})

export const insightOperations = [
  createInsight,
  listInsights,
  getInsight,
  updateInsight,
  deleteInsight,
  createDashboard,
  listDashboards,
  getDashboard,
  updateDashboard,
  deleteDashboard,
]

import { Type } from 'typebox'
import { Id, Name, NullableTimestamp } from '../schema-parts.ts'
import { notFound, ProjectView } from './account-parts.ts'
import { defineOperation } from './operation.ts'
import { PageQuery, pageOf } from './page.ts'

const NewProject = Type.Object({
  name: Name,
  tenantId: Type.Optional(
    Type.String({
      ...Id,
      description: 'A tenant in which the caller owns a project. Default: the first one.',
    }),
  ),
})
const ProjectPatch = Type.Object({ name: Type.Optional(Name) })

const tag = 'Projects'
const one = '/api/projects/{projectId}'
const project = { description: 'The project', schema: ProjectView }

export const createProject = defineOperation({
  id: 'createProject',
  method: 'post',
  path: '/api/projects',
  tag,
  summary: 'Create a project, as its owner',
  description: 'A user who owns no project gets a new tenant.',
  access: { by: 'session' },
  effects: [],
  body: NewProject,
  answers: { 201: project, ...notFound },
})

export const listProjects = defineOperation({
  id: 'listProjects',
  method: 'get',
  path: '/api/projects',
  tag,
  summary: 'List the projects of the signed-in user',
  access: { by: 'session' },
  query: PageQuery,
  answers: { 200: { description: 'A page of projects, the newest first', schema: pageOf(ProjectView) } },
})

export const getProject = defineOperation({
  id: 'getProject',
  method: 'get',
  path: one,
  tag,
  summary: 'Read a project',
  access: { by: 'project', role: 'viewer' },
  answers: { 200: project },
})

export const updateProject = defineOperation({
  id: 'updateProject',
  method: 'patch',
  path: one,
  tag,
  summary: 'Rename a project',
  access: { by: 'project', role: 'admin' },
  effects: [],
  body: ProjectPatch,
  answers: { 200: project },
})

export const archiveProject = defineOperation({
  id: 'archiveProject',
  method: 'delete',
  path: one,
  tag,
  summary: 'Archive a project',
  description:
    'The project disappears at once, and every process refuses its keys within 5 seconds. Its data is kept.',
  access: { by: 'project', role: 'owner', tokens: false },
  effects: ['erasure'],
  answers: { 204: { description: 'Archived' } },
})

const DemoDataView = Type.Object({
  present: Type.Boolean({ description: 'Whether the project holds demo data.' }),
  createdAt: NullableTimestamp,
})

export const getDemoData = defineOperation({
  id: 'getDemoData',
  method: 'get',
  path: `${one}/demo-data`,
  tag,
  summary: 'Tell whether the project holds demo data',
  description: 'The standalone process adds it to the demo project, unless `WAYMARK_DEMO_DATA` is `off`.',
  access: { by: 'project', role: 'viewer' },
  answers: { 200: { description: 'Whether the project has demo data', schema: DemoDataView } },
})

export const removeDemoData = defineOperation({
  id: 'removeDemoData',
  method: 'delete',
  path: `${one}/demo-data`,
  tag,
  takesLong: true,
  summary: 'Remove all demo data from the project',
  description:
    'Erases the people of the demo data, deletes its resources and archives its metering selectors. Other ' +
    'data does not change. Without demo data nothing happens. The answer is 503 while it is still being ' +
    'added, and while data of its people is still being removed.',
  access: { by: 'project', role: 'admin' },
  effects: ['deletion'],
  answers: { 204: { description: 'The demo data is removed' } },
})

export const projectOperations = [
  createProject,
  listProjects,
  getProject,
  updateProject,
  archiveProject,
  getDemoData,
  removeDemoData,
]

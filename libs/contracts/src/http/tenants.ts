import { Type } from 'typebox'
import { Id, Name } from '../schema-parts.ts'
import { notFound, Role, TenantView, UserView } from './account-parts.ts'
import { defineOperation } from './operation.ts'
import { pageOf, pageParameters } from './page.ts'

const tenantId = Type.Optional(
  Type.String({ ...Id, description: 'The tenant. Default: the first one of the user.' }),
)
const tag = 'Tenants and users'
const path = '/api/tenant/profile'
const tenant = { description: 'The tenant', schema: TenantView }

const UserOfProjectsView = Type.Object({
  ...UserView.properties,
  projects: Type.Array(Type.Object({ id: Id, name: Type.String(), role: Role }), {
    description: 'The caller’s projects of which the user is a member.',
  }),
})

export const getTenantProfile = defineOperation({
  id: 'getTenantProfile',
  method: 'get',
  path,
  tag,
  summary: 'Read the tenant',
  access: { by: 'session-or-key', scope: 'tenant:read' },
  query: Type.Object({ tenantId }),
  answers: { 200: tenant, ...notFound },
})

export const updateTenantProfile = defineOperation({
  id: 'updateTenantProfile',
  method: 'patch',
  path,
  tag,
  summary: 'Rename the tenant, or require a second factor',
  description:
    'For owners of one of its projects. `requiresSecondFactor` needs an owner who has a second factor and has signed in or ' +
    'proved who they are within 10 minutes, without an access token.',
  access: { by: 'session' },
  effects: [
    {
      effect: 'signIn',
      described: 'the setting `requiresSecondFactor`',
      when: ({ body }) => body.requiresSecondFactor !== undefined,
    },
  ],
  query: Type.Object({ tenantId }),
  body: Type.Object({
    name: Type.Optional(Name),
    requiresSecondFactor: Type.Optional(
      Type.Boolean({ description: 'Whether its projects are closed to members without a second factor.' }),
    ),
  }),
  answers: { 200: tenant, ...notFound },
})

export const listUsers = defineOperation({
  id: 'listUsers',
  method: 'get',
  path: '/api/admin/users',
  tag,
  summary: 'List the users of the projects that the caller administers',
  description:
    'Users of the given project, or of all projects where the caller is admin or owner. 403 when there is none. An API key sees the users of its project.',
  access: { by: 'session-or-key', scope: 'manage:admin' },
  query: Type.Object({
    ...pageParameters,
    projectId: Type.Optional(Type.String({ maxLength: 200, description: 'Only users of this project.' })),
  }),
  answers: {
    200: { description: 'A page of users, the newest first', schema: pageOf(UserOfProjectsView) },
    ...notFound,
  },
})

export const tenantOperations = [getTenantProfile, updateTenantProfile, listUsers]

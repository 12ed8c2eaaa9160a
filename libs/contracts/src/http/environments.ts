import { Type } from 'typebox'
import { EnvironmentKey, MAX_OWN_ENVIRONMENTS } from '../environment.ts'
import { Name, NullableTimestamp } from '../schema-parts.ts'
import { ErrorBody } from './error-bodies.ts'
import { defineOperation } from './operation.ts'

const Environment = Type.Object({
  key: Type.String(),
  name: Type.String(),
  builtIn: Type.Boolean({ description: 'Whether every project has it. It cannot be deleted.' }),
  createdAt: NullableTimestamp,
})

const tag = 'Environments'
const collection = '/api/projects/{projectId}/environments'

export const listEnvironments = defineOperation({
  id: 'listEnvironments',
  method: 'get',
  path: collection,
  tag,
  summary: 'List the environments of a project',
  access: { by: 'project', role: 'viewer' },
  answers: {
    200: {
      description: 'All environments, production first',
      schema: Type.Object({ environments: Type.Array(Environment) }),
    },
  },
})

export const createEnvironment = defineOperation({
  id: 'createEnvironment',
  method: 'post',
  path: collection,
  tag,
  summary: 'Create an environment',
  description: `A project has up to ${MAX_OWN_ENVIRONMENTS} beside production and staging. Decisions are off in a new one.`,
  access: { by: 'project', role: 'admin' },
  effects: [],
  body: Type.Object({ key: EnvironmentKey, name: Type.Optional(Name) }),
  answers: { 201: { description: 'The environment', schema: Environment } },
})

export const deleteEnvironment = defineOperation({
  id: 'deleteEnvironment',
  method: 'delete',
  path: `${collection}/{key}`,
  tag,
  summary: 'Delete an environment that nothing uses',
  access: { by: 'project', role: 'admin' },
  effects: [],
  answers: {
    204: { description: 'Deleted' },
    409: {
      description: 'It is built in, a usable API key is bound to it, or a decision has rules for it',
      schema: ErrorBody,
    },
  },
})

export const environmentOperations = [listEnvironments, createEnvironment, deleteEnvironment]

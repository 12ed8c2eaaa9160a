import { Type } from 'typebox'
import { ErrorBody } from './error-bodies.ts'
import { defineOperation } from './operation.ts'

const tag = 'Documentation'
const access = { by: 'anyone' } as const

const Index = Type.Object({
  name: Type.String(),
  version: Type.String(),
  apps: Type.Array(Type.String(), { description: 'The apps in this process.' }),
  console: Type.String(),
  docs: Type.String(),
  openapi: Type.String(),
  health: Type.String(),
  readiness: Type.String(),
  metrics: Type.Object({
    path: Type.String(),
    port: Type.Optional(Type.Integer({ description: 'The port, when it is not that of the API.' })),
  }),
})

export const getIndex = defineOperation({
  id: 'getIndex',
  method: 'get',
  path: '/',
  tag,
  summary: 'Read which apps this process runs',
  description:
    'The addresses of the console, the documentation, health checks and metrics. Browsers are redirected to the console.',
  access,
  answers: {
    200: {
      description: 'Read which apps this process runs',
      schema: Index,
    },
    302: { description: 'The console, for browsers' },
  },
})

export const getOpenApi = defineOperation({
  id: 'getOpenApi',
  method: 'get',
  path: '/openapi.json',
  tag,
  summary: 'This document',
  access,
  answers: {
    200: { description: 'OpenAPI 3.1', schema: Type.Unsafe<Record<string, unknown>>({ type: 'object' }) },
  },
})

export const getDocs = defineOperation({
  id: 'getDocs',
  method: 'get',
  path: '/docs',
  tag,
  summary: 'This document as a page',
  access,
  answers: { 200: { description: 'The page', contentTypes: ['text/html'] } },
})

export const getDocsFile = defineOperation({
  id: 'getDocsFile',
  method: 'get',
  path: '/docs/{file}',
  tag,
  summary: 'Files of the documentation page',
  access,
  answers: {
    200: { description: 'A script or a style sheet', contentTypes: ['text/javascript', 'text/css'] },
    404: { description: 'The file does not exist', schema: ErrorBody },
  },
})

export const documentationOperations = [getIndex, getOpenApi, getDocs, getDocsFile]

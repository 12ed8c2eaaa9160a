import { Type } from 'typebox'
import { ErrorBody } from './error-bodies.ts'
import { defineOperation } from './operation.ts'

const tag = 'Documentation'
const access = { by: 'anyone' } as const

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
  summary: 'What the page consists of',
  access,
  answers: {
    200: { description: 'A script or a style sheet', contentTypes: ['text/javascript', 'text/css'] },
    404: { description: 'No such file', schema: ErrorBody },
  },
})

export const documentationOperations = [getOpenApi, getDocs, getDocsFile]

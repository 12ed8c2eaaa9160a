import { Type } from 'typebox'
import { suppressionReasons } from '../email.ts'
import { Id, NullableString, Timestamp } from '../schema-parts.ts'
import { defineOperation } from './operation.ts'
import { equalTo, pageOf, pageParameters } from './page.ts'

export const SuppressionView = Type.Object({
  id: Id,
  address: Type.String(),
  reason: Type.Enum(suppressionReasons),
  detail: NullableString,
  createdAt: Timestamp,
})

const NewSuppression = Type.Object({ address: Type.String({ minLength: 3, maxLength: 254 }) })
const SuppressionQuery = Type.Object({ ...pageParameters, address: equalTo('The address.') })

const tag = 'Suppressions'
const collection = '/api/projects/{projectId}/suppressions'
const suppression = { description: 'The suppression', schema: SuppressionView }

export const listSuppressions = defineOperation({
  id: 'listSuppressions',
  method: 'get',
  path: collection,
  tag,
  summary: 'List suppressed email addresses',
  access: { by: 'project', role: 'viewer' },
  query: SuppressionQuery,
  answers: {
    200: { description: 'A page of suppressions, the newest first', schema: pageOf(SuppressionView) },
  },
})

export const createSuppression = defineOperation({
  id: 'createSuppression',
  method: 'post',
  path: collection,
  tag,
  summary: 'Suppress an email address',
  description: 'An existing suppression does not change.',
  access: { by: 'project', role: 'editor' },
  effects: [],
  body: NewSuppression,
  answers: { 201: suppression, 200: { ...suppression, description: 'The address was already suppressed' } },
})

export const deleteSuppression = defineOperation({
  id: 'deleteSuppression',
  method: 'delete',
  path: `${collection}/{id}`,
  tag,
  summary: 'Remove a suppression',
  access: { by: 'project', role: 'editor' },
  effects: [],
  answers: { 204: { description: 'The suppression was removed' } },
})

export const suppressionOperations = [listSuppressions, createSuppression, deleteSuppression]

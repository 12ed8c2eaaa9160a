import { Type } from 'typebox'
import { Id, Name, NullableString, Timestamp } from '../schema-parts.ts'
import { defineOperation } from './operation.ts'
import { PageQuery, pageOf } from './page.ts'

/** Maximum selectors for one event name. Each filter is evaluated for each event of that name. */
export const MAX_SELECTORS_PER_EVENT = 60

const propertyPath = (description: string) => Type.Optional(Type.String({ ...Name, description }))

const NewMeteringSelector = Type.Object({
  eventName: Name,
  filter: Type.Optional(
    Type.Unknown({ description: 'A JsonLogic condition on the event. Default: every event of this name.' }),
  ),
  amountProperty: propertyPath('Where the amount is, an integer in minor units.'),
  currencyProperty: propertyPath(
    'The property with the currency, an ISO 4217 code in upper or lower case. Default with `amountProperty`: `currency`.',
  ),
  quantityProperty: propertyPath('Where a number of pieces is.'),
})

export const MeteringSelectorView = Type.Object({
  id: Id,
  eventName: Type.String(),
  filter: Type.Unknown(),
  amountProperty: NullableString,
  currencyProperty: NullableString,
  quantityProperty: NullableString,
  createdAt: Timestamp,
})

const tag = 'Metering selectors'
const collection = '/api/projects/{projectId}/metering-selectors'

export const createMeteringSelector = defineOperation({
  id: 'createMeteringSelector',
  method: 'post',
  path: collection,
  tag,
  summary: 'Create a metering selector',
  description: `An event name has at most ${MAX_SELECTORS_PER_EVENT} selectors in use; one more is refused with 422 and the rule \`max_selectors\`.`,
  access: { by: 'project', role: 'editor' },
  effects: [],
  body: NewMeteringSelector,
  answers: { 201: { description: 'The selector', schema: MeteringSelectorView } },
})

export const listMeteringSelectors = defineOperation({
  id: 'listMeteringSelectors',
  method: 'get',
  path: collection,
  tag,
  summary: 'List metering selectors',
  access: { by: 'project', role: 'viewer' },
  query: PageQuery,
  answers: {
    200: { description: 'A page of selectors, the newest first', schema: pageOf(MeteringSelectorView) },
  },
})

export const getMeteringSelector = defineOperation({
  id: 'getMeteringSelector',
  method: 'get',
  path: `${collection}/{id}`,
  tag,
  summary: 'Read a metering selector',
  access: { by: 'project', role: 'viewer' },
  answers: { 200: { description: 'The selector', schema: MeteringSelectorView } },
})

export const archiveMeteringSelector = defineOperation({
  id: 'archiveMeteringSelector',
  method: 'delete',
  path: `${collection}/{id}`,
  tag,
  summary: 'Archive a metering selector',
  description: 'Its conversions are kept.',
  access: { by: 'project', role: 'editor' },
  effects: [],
  answers: { 204: { description: 'Archived' } },
})

export const meteringSelectorOperations = [
  createMeteringSelector,
  listMeteringSelectors,
  getMeteringSelector,
  archiveMeteringSelector,
]

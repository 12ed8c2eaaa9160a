import { type Static, Type } from 'typebox'
import { Id, JsonObject, NullableString, Timestamp } from '../schema-parts.ts'
import { defineOperation } from './operation.ts'
import { equalTo, pageOf, pageParameters } from './page.ts'

/** A conversion in the API. */
export const ConversionView = Type.Object({
  selectorId: Id,
  eventId: Type.String(),
  eventName: Type.String(),
  amount: Type.Unsafe<number | null>({
    type: ['integer', 'null'],
    description: 'In minor units of the currency.',
  }),
  currency: NullableString,
  quantity: Type.Unsafe<number | null>({ type: ['number', 'null'] }),
  visitorId: NullableString,
  userId: NullableString,
  profileId: NullableString,
  attribution: JsonObject,
  occurredAt: Timestamp,
  receivedAt: Timestamp,
})
export type ConversionView = Static<typeof ConversionView>

export const listConversions = defineOperation({
  id: 'listConversions',
  method: 'get',
  path: '/api/projects/{projectId}/conversions',
  tag: 'Conversions',
  summary: 'List conversions',
  access: { by: 'project', role: 'viewer' },
  query: Type.Object({ ...pageParameters, eventId: equalTo('Those of one event.') }),
  answers: {
    200: { description: 'A page of conversions, the last received first', schema: pageOf(ConversionView) },
  },
})

export const conversionOperations = [listConversions]

import { type Static, Type } from 'typebox'
import { EnrichedEvent } from '../records/enriched-event.ts'
import { defineOperation } from './operation.ts'
import { equalTo, pageOf, pageParameters } from './page.ts'

/** A stored event as the API shows it. */
export const EventView = Type.Omit(EnrichedEvent, ['v', 'projectId', 'backfill', 'conversions'])
export type EventView = Static<typeof EventView>

const EventQuery = Type.Object({
  ...pageParameters,
  eventId: equalTo('The event with this id.'),
  eventName: equalTo('Events of this name.'),
  visitorId: equalTo('Events of this visitor.'),
  userId: equalTo('Events of this user.'),
})
export type EventQuery = Static<typeof EventQuery>

export const listEvents = defineOperation({
  id: 'listEvents',
  method: 'get',
  path: '/api/projects/{projectId}/events',
  tag: 'Events',
  summary: 'List events; all filters that are given must match',
  access: { by: 'project', role: 'viewer' },
  query: EventQuery,
  answers: { 200: { description: 'A page of events, the last received first', schema: pageOf(EventView) } },
})

export const eventOperations = [listEvents]

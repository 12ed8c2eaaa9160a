import { expect, it } from 'vitest'
import { partitionKeyOf } from './partition-key.ts'

const event = {
  eventId: 'event-1',
  eventName: 'page_view',
  visitorId: null,
  userId: null,
  sessionId: 'session-1',
  properties: {},
  clientTimestamp: null,
  shortLinkId: null,
  shortLinkCode: null,
  clickIds: {},
}

it.each([
  [{ visitorId: 'visitor-1', userId: 'user-1' }, 'visitor-1'],
  [{ userId: 'user-1' }, 'user-1'],
  [{}, 'event-1'],
])('keeps the records of %j in order under one key', (person, id) => {
  expect(partitionKeyOf('project-1', { ...event, ...person })).toEqual({ projectId: 'project-1', id })
})

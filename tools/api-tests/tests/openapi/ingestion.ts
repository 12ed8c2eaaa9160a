import { createEventDefinition } from '@waymark/contracts/http/event-definitions'
import {
  backfillEvents,
  identify,
  trackEvents,
  writeProfile,
} from '@waymark/contracts/http/ingestion-operations'
import { postHogCapture, postHogConfig } from '@waymark/contracts/http/posthog-protocol'
import {
  rudderSourceConfig,
  segmentAlias,
  segmentBatch,
  segmentGroup,
  segmentIdentify,
  segmentImport,
  segmentPage,
  segmentScreen,
  segmentSettings,
  segmentTrack,
} from '@waymark/contracts/http/segment-protocol'
import { updateSettings } from '@waymark/contracts/http/settings'
import { eventually } from '@waymark/testing'
import type { Example } from './example.ts'
import type { World } from './world.ts'

/** Makes `enforce` reject every `forbidden` event, and waits until the gateway does. */
const enforce = async ({ call }: World): Promise<void> => {
  await call(updateSettings, { body: { ingestValidation: { mode: 'enforce' } } })
  await call(createEventDefinition, { body: { name: 'forbidden', schema: { required: ['never'] } } })
  await eventually('enforce is in force', async () => {
    const { status } = await call(trackEvents, {
      body: { ...event, eventName: 'forbidden' },
      query: { sync: '1' },
    })
    return status === 422
  })
}

const event = { eventName: 'page_view', visitorId: 'v' }
const person = { visitorId: 'v', userId: 'u', traits: { plan: 'pro' } }
const tooDeep = { ...person, traits: { a: { b: { c: 1 } } } }

const message = { type: 'track', event: 'e', anonymousId: 'v' }
/** Requests that are accepted while the database is unavailable, because they are queued. */
const goesOn = { goesOn: true } as const
const unknownEncoding = (body: object) => ({
  415: () => ({ body, headers: { 'Content-Encoding': 'unknown' } }),
})
const segmentExample = (operation: Example['operation'], body: object): Example => ({
  operation,
  good: () => ({ body }),
  others: unknownEncoding(body),
})

const postHogExamples: Example[] = [
  { ...segmentExample(postHogCapture, { event: 'e', distinct_id: 'v' }), ...goesOn },
  {
    operation: postHogConfig,
    ...goesOn,
    good: async ({ keyWith }) => ({ key: null, params: { key: await keyWith(['events:write'], 'pub') } }),
    others: {
      401: () => ({ key: null, params: { key: 'unknown' } }),
      403: async ({ keyWith }) => ({ key: null, params: { key: await keyWith(['links:read']) } }),
    },
  },
]

const segmentExamples: Example[] = [
  { ...segmentExample(segmentBatch, { batch: [message] }), ...goesOn },
  { ...segmentExample(segmentImport, { batch: [message] }), ...goesOn },
  { ...segmentExample(segmentTrack, message), ...goesOn },
  { ...segmentExample(segmentPage, { anonymousId: 'v' }), ...goesOn },
  { ...segmentExample(segmentScreen, { anonymousId: 'v' }), ...goesOn },
  { ...segmentExample(segmentIdentify, { anonymousId: 'v', userId: 'u' }), ...goesOn },
  { ...segmentExample(segmentAlias, { previousId: 'v', userId: 'u' }), ...goesOn },
  segmentExample(segmentGroup, { userId: 'u', groupId: 'g' }),
  {
    operation: segmentSettings,
    ...goesOn,
    good: async ({ keyWith }) => ({
      key: null,
      params: { writeKey: await keyWith(['events:write'], 'pub') },
    }),
    others: {
      401: () => ({ key: null, params: { writeKey: 'unknown' } }),
      403: async ({ keyWith }) => ({ key: null, params: { writeKey: await keyWith(['links:read']) } }),
    },
  },
]

const sourceConfigExample: Example = {
  operation: rudderSourceConfig,
  ...goesOn,
  good: async ({ keyWith }) => ({ key: null, query: { writeKey: await keyWith(['events:write'], 'pub') } }),
  others: {
    401: () => ({ key: null, query: { writeKey: 'unknown' } }),
    403: async ({ keyWith }) => ({ key: null, query: { writeKey: await keyWith(['links:read']) } }),
  },
}

export const ingestionExamples: Example[] = [
  sourceConfigExample,
  ...segmentExamples,
  ...postHogExamples,
  {
    operation: trackEvents,
    good: () => ({ body: event, query: { sync: '1' } }),
    others: {
      202: () => ({ body: { events: [event, { eventName: '' }] } }),
      400: () => ({ body: { events: [{ eventName: '' }] } }),
      422: async (world) => {
        await enforce(world)
        return { body: { ...event, eventName: 'forbidden' }, query: { sync: '1' } }
      },
    },
  },
  {
    operation: identify,
    good: () => ({ body: person, query: { sync: '1' } }),
    others: { 202: () => ({ body: person }), 400: () => ({ body: tooDeep }) },
  },
  { operation: writeProfile, good: () => ({ body: person }), others: { 400: () => ({ body: tooDeep }) } },
  {
    operation: backfillEvents,
    good: () => ({ body: { events: [event] } }),
    others: {
      400: () => ({ body: { events: [] } }),
      422: async (world) => {
        await enforce(world)
        return { body: { ...event, eventName: 'forbidden' } }
      },
    },
  },
]

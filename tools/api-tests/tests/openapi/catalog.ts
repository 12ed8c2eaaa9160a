import { randomUUID } from 'node:crypto'
import {
  createApiKey,
  getApiKey,
  listApiKeys,
  revokeApiKey,
  rotateApiKey,
  updateApiKey,
} from '@waymark/contracts/http/api-keys'
import { listConversions } from '@waymark/contracts/http/conversions'
import { listDeadLetters, replayDeadLetter, replayDeadLetters } from '@waymark/contracts/http/dead-letters'
import {
  archiveEventDefinition,
  createEventDefinition,
  getEventDefinition,
  inferEventSchema,
  listEventDefinitions,
  listEventDefinitionVersions,
  updateEventDefinition,
} from '@waymark/contracts/http/event-definitions'
import { listEvents, streamEvents } from '@waymark/contracts/http/events'
import { trackEvents } from '@waymark/contracts/http/ingestion-operations'
import {
  archiveMeteringSelector,
  createMeteringSelector,
  getMeteringSelector,
  listMeteringSelectors,
} from '@waymark/contracts/http/metering-selectors'
import {
  getRejectedEvent,
  listRejectedEvents,
  replayRejectedEvent,
  replayRejectedEvents,
} from '@waymark/contracts/http/rejected-events'
import {
  getIdentitySecret,
  getSettings,
  rotateIdentitySecret,
  updateSettings,
} from '@waymark/contracts/http/settings'
import { eventually } from '@waymark/testing'
import { type Example, stringIn } from './example.ts'
import type { World } from './world.ts'

const aKey = () => ({ name: 'A key', kind: 'sec', scopes: ['events:write'] })
const aDefinition = () => ({ name: `event ${randomUUID()}`, schema: { type: 'object' } })
const aSelector = () => ({ eventName: `ordered ${randomUUID()}`, amountProperty: 'total' })

const idOf = async (created: ReturnType<World['call']>) => ({ id: stringIn((await created).body, 'id') })
const newDefinition = ({ call }: World) => idOf(call(createEventDefinition, { body: aDefinition() }))

const newKey = async ({ call }: World) => ({ params: await idOf(call(createApiKey, { body: aKey() })) })
const newSelector = async ({ call }: World) => ({
  params: await idOf(call(createMeteringSelector, { body: aSelector() })),
})

/** A quarantined event, and the definition that rejected it. */
const reject = async ({ call }: World) => {
  await call(updateSettings, { body: { ingestValidation: { mode: 'enforce' } } })
  const definition = { name: `order ${randomUUID()}`, schema: { required: ['total'] } }
  const { id: definitionId } = await idOf(call(createEventDefinition, { body: definition }))
  // In `warn` mode once, until the gateway applies both changes.
  const id = await eventually('the event is in the quarantine', async () => {
    await call(trackEvents, {
      body: { events: [{ eventName: definition.name, visitorId: 'v' }, { eventName: 'x' }] },
    })
    const { body } = await call(listRejectedEvents)
    const { data } = body as { data: { id: string; eventName: string }[] }
    return data.find(({ eventName }) => eventName === definition.name)?.id
  })
  return { id, definitionId, eventName: definition.name }
}

export const catalogExamples: Example[] = [
  { operation: streamEvents, good: () => ({ query: { visitorId: 'v' } }), goesOn: true },
  { operation: listEvents, good: () => ({ query: { limit: '2', visitorId: 'v' } }) },
  { operation: listConversions, good: () => ({}) },
  { operation: createApiKey, good: () => ({ body: aKey() }) },
  { operation: listApiKeys, good: () => ({}) },
  { operation: getApiKey, good: newKey },
  { operation: updateApiKey, good: async (world) => ({ ...(await newKey(world)), body: { name: 'New' } }) },
  {
    operation: rotateApiKey,
    good: async (world) => ({ ...(await newKey(world)), body: { overlapSeconds: 0 } }),
  },
  { operation: revokeApiKey, good: newKey },
  { operation: createEventDefinition, good: () => ({ body: aDefinition() }) },
  { operation: listEventDefinitions, good: () => ({}) },
  { operation: getEventDefinition, good: async (world) => ({ params: await newDefinition(world) }) },
  {
    operation: updateEventDefinition,
    good: async (world) => ({ params: await newDefinition(world), body: { description: 'New' } }),
  },
  {
    operation: listEventDefinitionVersions,
    good: async (world) => ({ params: await newDefinition(world) }),
  },
  {
    operation: inferEventSchema,
    good: async ({ call }) => {
      await call(trackEvents, { body: { eventName: 'learned', visitorId: 'v' }, query: { sync: '1' } })
      return { body: { eventName: 'learned' } }
    },
    goesOn: true,
  },
  { operation: archiveEventDefinition, good: async (world) => ({ params: await newDefinition(world) }) },
  { operation: createMeteringSelector, good: () => ({ body: aSelector() }) },
  { operation: listMeteringSelectors, good: () => ({}) },
  { operation: getMeteringSelector, good: newSelector },
  { operation: archiveMeteringSelector, good: newSelector },
  { operation: getSettings, good: () => ({}) },
  {
    operation: updateSettings,
    good: () => ({ body: { ipStorage: 'drop', retentionDays: 400, archiveEvents: true } }),
  },
  { operation: getIdentitySecret, good: () => ({}) },
  { operation: rotateIdentitySecret, good: () => ({}) },
  { operation: listRejectedEvents, good: () => ({}) },
  { operation: getRejectedEvent, good: async (world) => ({ params: { id: (await reject(world)).id } }) },
  {
    operation: replayRejectedEvent,
    good: async (world) => {
      const { id, definitionId, eventName } = await reject(world)
      await world.call(updateEventDefinition, { params: { id: definitionId }, body: { schema: {} } })
      await eventually('every process has the fixed definition', async () => {
        const { status } = await world.call(trackEvents, { body: { eventName }, query: { sync: '1' } })
        return status === 200
      })
      return { params: { id } }
    },
    others: { 422: async (world) => ({ params: { id: (await reject(world)).id } }) },
  },
  { operation: replayRejectedEvents, good: () => ({ body: {} }) },
  { operation: replayDeadLetters, good: () => ({ body: {} }) },
  { operation: listDeadLetters, good: () => ({}) },
  {
    operation: replayDeadLetter,
    good: async ({ deadLetter }) => ({ params: { id: await deadLetter('fit') } }),
    others: { 422: async ({ deadLetter }) => ({ params: { id: await deadLetter('unfit') } }) },
  },
]

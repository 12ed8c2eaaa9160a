import { randomUUID } from 'node:crypto'
import {
  cancelWebhookReplay,
  createWebhook,
  deleteWebhook,
  getWebhook,
  getWebhookReplay,
  listWebhookDeliveries,
  listWebhooks,
  redeliverWebhookDelivery,
  replayWebhook,
  rotateWebhookSecret,
  testWebhook,
  updateWebhook,
} from '@waymark/contracts/http/webhooks'
import { asOwner, type Example, stringIn } from './example.ts'
import type { Call, World } from './world.ts'

const TESTS_PER_MINUTE = 10

const aWebhook = () => ({ url: `https://${randomUUID()}.example/hook`, topics: ['event'] })
const range = { from: '2026-01-15T00:00:00Z', to: '2026-01-16T00:00:00Z' }

/** A request that names a webhook of a new project, because tests are limited per project. */
const onWebhook = async (
  world: World,
  fields: object = {},
): Promise<Call & { params: { projectId: string; id: string } }> => {
  const owner = await asOwner(world)
  const { body } = await world.call(createWebhook, { ...owner, body: { ...aWebhook(), ...fields } })
  return { ...owner, params: { ...owner.params, id: stringIn(body, 'id') } } as never
}
/** A webhook whose replay runs until it is canceled. */
const onReplay = async (world: World): Promise<Call> => {
  const hook = await onWebhook(world)
  await world.call(replayWebhook, { ...hook, body: range })
  // It would end after 2 s, before the request on a busy machine.
  await world.db.prisma.webhookReplay.update({
    where: { webhookId: hook.params.id },
    data: { state: 'running', finishedAt: null, portionAt: new Date('2100-01-01T00:00:00Z') },
  })
  return hook
}
const onDelivery = async (world: World, fields: object = {}): Promise<Call> => {
  const hook = await onWebhook(world, fields)
  const { body } = await world.call(testWebhook, hook)
  return { ...hook, params: { ...hook.params, deliveryId: stringIn(body, 'id') } }
}

export const webhookExamples: Example[] = [
  { operation: createWebhook, good: () => ({ body: aWebhook() }) },
  { operation: listWebhooks, good: () => ({ query: { limit: '2' } }) },
  { operation: getWebhook, good: (world) => onWebhook(world) },
  {
    operation: updateWebhook,
    good: async (world) => ({ ...(await onWebhook(world)), body: { status: 'paused' } }),
  },
  { operation: deleteWebhook, good: (world) => onWebhook(world) },
  {
    operation: rotateWebhookSecret,
    good: async (world) => ({ ...(await onWebhook(world)), body: { overlapSeconds: 60 } }),
  },
  {
    operation: testWebhook,
    good: (world) => onWebhook(world),
    others: {
      429: async (world) => {
        const hook = await onWebhook(world)
        for (let sent = 0; sent < TESTS_PER_MINUTE; sent++) await world.call(testWebhook, hook)
        return hook
      },
    },
  },
  {
    operation: replayWebhook,
    good: async (world) => ({ ...(await onWebhook(world)), body: range }),
    others: {
      409: async (world) => ({ ...(await onReplay(world)), body: range }),
      422: async (world) => ({ ...(await onWebhook(world, { status: 'paused' })), body: range }),
    },
  },
  { operation: getWebhookReplay, good: onReplay },
  { operation: cancelWebhookReplay, good: onReplay },
  {
    operation: listWebhookDeliveries,
    good: async (world) => ({ ...(await onDelivery(world)), query: { limit: '2', topic: 'test' } }),
  },
  {
    operation: redeliverWebhookDelivery,
    good: (world) => onDelivery(world),
    others: { 422: (world) => onDelivery(world, { status: 'paused' }) },
  },
]

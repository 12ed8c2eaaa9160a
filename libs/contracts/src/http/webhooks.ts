import { type Static, Type } from 'typebox'
import {
  Id,
  JsonObject,
  Name,
  NullableString,
  NullableTimestamp,
  patternOf,
  Timestamp,
} from '../schema-parts.ts'
import { webhookDeliveryStatuses, webhookReplayStates, webhookStatuses, webhookTopics } from '../webhook.ts'
import { ErrorBody, Unprocessable } from './error-bodies.ts'
import { defineOperation } from './operation.ts'
import { PageQuery, pageOf, pageParameters } from './page.ts'

/** How long the previous secret signs as well, by default and at most. */
export const DEFAULT_WEBHOOK_OVERLAP_SECONDS = 86_400
const MAX_OVERLAP_SECONDS = 604_800

const Status = Type.Enum(webhookStatuses, { description: 'Only an active webhook gets messages.' })
const Topic = Type.Enum(webhookTopics)
const DeliveryStatus = Type.Enum(webhookDeliveryStatuses)

const fields = {
  url: Type.String({
    maxLength: 2_000,
    ...patternOf(
      '^https?://[^\\s/?#@]+([/?][^\\s#]*)?$',
      'an http or https URL without user, password or fragment',
    ),
    description:
      'Its host may not resolve to a private, loopback or link-local address. Redirects are not followed.',
  }),
  topics: Type.Array(Topic, {
    minItems: 1,
    maxItems: webhookTopics.length,
    uniqueItems: true,
    description:
      '`gift_card.moved`: a movement of the ledger of gift cards, without their codes; `decision.changed`: a new version of a decision; `email.sent` and `email.bounced`: emails of triggers, without ' +
      'their addresses; `alert.fired` and `alert.resolved`: an alert begins and ends to fire; `audit`: entries of the audit log.',
  }),
}
const optional = {
  eventNames: Type.Optional(
    Type.Array(Name, {
      maxItems: 100,
      uniqueItems: true,
      description: 'Events and conversions of these names only; empty for all.',
    }),
  ),
  filter: Type.Optional(
    Type.Unknown({
      description:
        'JsonLogic over `topic`, `data` (the `data` of the message), and for events and conversions `event` and ' +
        '`properties`; null for all messages.',
    }),
  ),
  status: Type.Optional(Status),
}
const NewWebhook = Type.Object({ ...fields, ...optional })
const WebhookPatch = Type.Partial(NewWebhook)

const view = {
  id: Id,
  url: Type.String(),
  topics: Type.Array(Type.String()),
  eventNames: Type.Array(Type.String()),
  filter: Type.Unknown(),
  status: Status,
  pausedReason: Type.Unsafe<string | null>({
    ...NullableString,
    description:
      'Why it was paused by itself: `gone` (it answered 410) or `failing` (no attempt succeeded for 3 days).',
  }),
  failingSince: Type.Unsafe<string | null>({
    ...NullableTimestamp,
    description: 'The first failed attempt since the last successful one.',
  }),
  previousSecretExpiresAt: Type.Unsafe<string | null>({
    ...NullableTimestamp,
    description: 'Until then messages are signed with the previous secret as well.',
  }),
  version: Type.Integer({ description: 'Counts the changes.' }),
  createdAt: Timestamp,
  updatedAt: Timestamp,
}
const WebhookView = Type.Object(view)
const WebhookWithSecret = Type.Object({
  ...view,
  secret: Type.String({ description: 'Signs messages by Standard Webhooks. It is shown only here.' }),
})

const Rotation = Type.Object({
  overlapSeconds: Type.Optional(
    Type.Integer({
      minimum: 0,
      maximum: MAX_OVERLAP_SECONDS,
      default: DEFAULT_WEBHOOK_OVERLAP_SECONDS,
      description: 'How long messages are signed with the old secret as well.',
    }),
  ),
})

const DeliveryView = Type.Object({
  id: Type.String({ format: 'uuid', description: 'Sent as `webhook-id`, the same in every attempt.' }),
  webhookId: Id,
  topic: Type.String({ description: 'A topic, or `test`.' }),
  status: DeliveryStatus,
  payload: Type.Unsafe<Record<string, unknown>>({ ...JsonObject, description: 'The body of the request.' }),
  attempts: Type.Integer(),
  nextAttemptAt: NullableTimestamp,
  responseStatus: Type.Unsafe<number | null>({
    type: ['integer', 'null'],
    description: 'Of the last attempt, like the three that follow.',
  }),
  responseBody: Type.Unsafe<string | null>({ ...NullableString, description: 'Its first 2 KiB.' }),
  error: NullableString,
  durationMs: Type.Unsafe<number | null>({ type: ['integer', 'null'] }),
  createdAt: Timestamp,
  deliveredAt: NullableTimestamp,
})
const DeliveryQuery = Type.Object({
  ...pageParameters,
  status: Type.Optional(DeliveryStatus),
  topic: Type.Optional(Type.Enum([...webhookTopics, 'test'])),
})

const Replay = Type.Object({
  from: Type.String({ format: 'date-time', description: 'Deliveries created at this time or later.' }),
  to: Type.String({ format: 'date-time', description: 'Deliveries created before this time.' }),
  status: Type.Optional(Type.Enum(['delivered', 'failed'], { description: 'Only these; without it, both.' })),
})
const ReplayView = Type.Object({
  from: Timestamp,
  to: Type.Unsafe<string>({ ...Timestamp, description: 'At most the time of the request.' }),
  status: Type.Unsafe<string | null>({
    ...NullableString,
    description: '`delivered` or `failed`: only these; null: both.',
  }),
  state: Type.Enum(webhookReplayStates, {
    description:
      '`limited`: it ended because it has queued 100,000 deliveries; start another from `reachedAt` for the rest.',
  }),
  queued: Type.Integer({ description: 'Deliveries that are sent again, so far.' }),
  reachedAt: Type.Unsafe<string>({
    ...Timestamp,
    description: 'Deliveries created before this time were handled.',
  }),
  createdAt: Timestamp,
  finishedAt: NullableTimestamp,
})
const LatestReplay = Type.Object({
  replay: Type.Unsafe<Static<typeof ReplayView> | null>({
    ...Type.Union([ReplayView, Type.Null()]),
    description: 'Null when there was none.',
  }),
})

const tag = 'Webhooks'
const collection = '/api/projects/{projectId}/webhooks'
const one = `${collection}/{id}`
const webhook = { description: 'The webhook', schema: WebhookView }
const withSecret = { description: 'The webhook with its secret', schema: WebhookWithSecret }
const delivery = { description: 'It is sent soon', schema: DeliveryView }
const paused = { description: 'The webhook is paused, or a value is not allowed', schema: Unprocessable }

export const createWebhook = defineOperation({
  id: 'createWebhook',
  method: 'post',
  path: collection,
  tag,
  summary: 'Create a webhook',
  description:
    'Active unless said otherwise. Messages follow Standard Webhooks and arrive at least once: receivers ignore a ' +
    '`webhook-id` that they know. What was received before it became active is not delivered, nor are backfills.',
  access: { by: 'project', role: 'admin' },
  effects: ['destination'],
  body: NewWebhook,
  answers: { 201: withSecret },
})

export const listWebhooks = defineOperation({
  id: 'listWebhooks',
  method: 'get',
  path: collection,
  tag,
  summary: 'List webhooks',
  access: { by: 'project', role: 'editor' },
  query: PageQuery,
  answers: { 200: { description: 'A page of webhooks, the newest first', schema: pageOf(WebhookView) } },
})

export const getWebhook = defineOperation({
  id: 'getWebhook',
  method: 'get',
  path: one,
  tag,
  summary: 'Read a webhook',
  access: { by: 'project', role: 'editor' },
  answers: { 200: webhook },
})

export const updateWebhook = defineOperation({
  id: 'updateWebhook',
  method: 'patch',
  path: one,
  tag,
  summary: 'Change a webhook',
  description:
    'What waits goes to the new URL. A paused webhook gets nothing; what waits is sent once it is active again.',
  access: { by: 'project', role: 'admin' },
  effects: [
    {
      effect: 'destination',
      described: 'another `url`',
      when: ({ body, before }) => body.url !== undefined && body.url !== before.url,
    },
  ],
  body: WebhookPatch,
  answers: { 200: webhook },
})

export const deleteWebhook = defineOperation({
  id: 'deleteWebhook',
  method: 'delete',
  path: one,
  tag,
  summary: 'Delete a webhook and its deliveries',
  access: { by: 'project', role: 'admin' },
  effects: [],
  answers: { 204: { description: 'Deleted' } },
})

export const rotateWebhookSecret = defineOperation({
  id: 'rotateWebhookSecret',
  method: 'post',
  path: `${one}/rotate-secret`,
  tag,
  summary: 'Give a webhook a new secret',
  description: 'During the overlap every message has a signature by each secret.',
  access: { by: 'project', role: 'admin', tokens: false },
  effects: ['secret'],
  body: Rotation,
  answers: { 200: withSecret },
})

export const testWebhook = defineOperation({
  id: 'testWebhook',
  method: 'post',
  path: `${one}/test`,
  tag,
  summary: 'Send a test message',
  description: 'At most 10 a minute in a project. It is sent once, for any status of the webhook.',
  access: { by: 'project', role: 'editor' },
  effects: [],
  limited: true,
  answers: { 202: delivery },
})

export const replayWebhook = defineOperation({
  id: 'replayWebhook',
  method: 'post',
  path: `${one}/replay`,
  tag,
  summary: 'Send the deliveries of a time range again',
  description:
    'One replay of a webhook at a time, of at most 100,000 deliveries. They keep their `webhook-id`, and are queued in ' +
    'portions of 1,000 while fewer than 1,000 deliveries of the webhook wait.',
  access: { by: 'project', role: 'editor' },
  effects: [],
  body: Replay,
  answers: {
    202: { description: 'The replay that was started', schema: ReplayView },
    409: { description: 'Another replay of the webhook is running', schema: ErrorBody },
    422: paused,
  },
})

export const getWebhookReplay = defineOperation({
  id: 'getWebhookReplay',
  method: 'get',
  path: `${one}/replay`,
  tag,
  summary: 'Get the progress of the latest replay',
  access: { by: 'project', role: 'editor' },
  answers: { 200: { description: 'The replay', schema: LatestReplay } },
})

export const cancelWebhookReplay = defineOperation({
  id: 'cancelWebhookReplay',
  method: 'delete',
  path: `${one}/replay`,
  tag,
  summary: 'Cancel the running replay',
  description: 'A replay begins after 2 s. What it has queued is sent. 404 when none is running.',
  access: { by: 'project', role: 'editor' },
  effects: [],
  answers: { 204: { description: 'Canceled' } },
})

export const listWebhookDeliveries = defineOperation({
  id: 'listWebhookDeliveries',
  method: 'get',
  path: `${one}/deliveries`,
  tag,
  summary: 'List the deliveries of a webhook',
  description: 'Deliveries of the topic `audit` are listed for admins only.',
  access: { by: 'project', role: 'editor' },
  query: DeliveryQuery,
  answers: { 200: { description: 'A page of deliveries, the newest first', schema: pageOf(DeliveryView) } },
})

export const redeliverWebhookDelivery = defineOperation({
  id: 'redeliverWebhookDelivery',
  method: 'post',
  path: `${one}/deliveries/{deliveryId}/redeliver`,
  tag,
  summary: 'Send a delivery again',
  description: 'It keeps its `webhook-id`. A waiting one is sent at once.',
  access: { by: 'project', role: 'editor' },
  effects: [],
  answers: { 202: delivery, 422: paused },
})

export const webhookOperations = [
  createWebhook,
  listWebhooks,
  getWebhook,
  updateWebhook,
  deleteWebhook,
  rotateWebhookSecret,
  testWebhook,
  replayWebhook,
  getWebhookReplay,
  cancelWebhookReplay,
  listWebhookDeliveries,
  redeliverWebhookDelivery,
]

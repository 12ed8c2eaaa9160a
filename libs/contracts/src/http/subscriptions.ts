import { type Static, Type } from 'typebox'
import { type ProjectRole, projectRoles } from '../project-role.ts'
import { Id, Name, NullableString, Timestamp } from '../schema-parts.ts'
import { TimeZone } from './analytics-parts.ts'
import { defineOperation } from './operation.ts'
import { PageQuery, pageOf } from './page.ts'

/** After which periods a dashboard is sent. */
export const subscriptionFrequencies = ['day', 'week', 'month'] as const
export type SubscriptionFrequency = (typeof subscriptionFrequencies)[number]

/** Most members who get a subscription. */
export const MAX_SUBSCRIPTION_RECIPIENTS = 50
/** Most insights of a dashboard in an email. */
export const MAX_SUBSCRIPTION_TILES = 20
export const DEFAULT_SUBSCRIPTION_HOUR = 7

/** What became of an email. `unconfirmed`: the process stopped while it was handed over. */
const mailStatuses = ['pending', 'sent', 'unconfirmed', 'failed', 'skipped'] as const

const fields = {
  name: Name,
  dashboardId: Type.String({ format: 'uuid' }),
  frequency: Type.Unsafe<SubscriptionFrequency>({
    type: 'string',
    enum: subscriptionFrequencies,
    description: 'After each day, each week from Monday to Sunday, or each month.',
  }),
}
const choices = {
  timeZone: TimeZone,
  hour: Type.Optional(
    Type.Integer({
      minimum: 0,
      maximum: 23,
      description: `The hour of the day after the period at which it is sent; ${DEFAULT_SUBSCRIPTION_HOUR} unless given.`,
    }),
  ),
  emailRoles: Type.Optional(
    Type.Array(Type.Unsafe<ProjectRole>({ type: 'string', enum: projectRoles }), {
      maxItems: projectRoles.length,
      uniqueItems: true,
      description: 'The members with these roles get it.',
    }),
  ),
  userIds: Type.Optional(
    Type.Array(Type.String({ format: 'uuid' }), {
      maxItems: MAX_SUBSCRIPTION_RECIPIENTS,
      uniqueItems: true,
      description: 'The ids of members who get it, whatever their role is.',
    }),
  ),
}
const NewSubscription = Type.Object({ ...fields, ...choices })
const SubscriptionPatch = Type.Partial(NewSubscription)

const Mail = Type.Object({
  userId: Id,
  status: Type.Enum(mailStatuses),
  reason: Type.Unsafe<string | null>({ ...NullableString, description: 'Why it was not sent.' }),
})
const LastReport = Type.Object({
  periodStart: Timestamp,
  periodEnd: Timestamp,
  createdAt: Type.String({ ...Timestamp, description: 'When it was measured and its emails were queued.' }),
  mails: Type.Array(Mail),
})

export const SubscriptionView = Type.Object({
  id: Id,
  ...fields,
  name: Type.String(),
  timeZone: Type.String(),
  hour: Type.Integer(),
  emailRoles: Type.Array(Type.String()),
  userIds: Type.Array(Id),
  unsubscribedUserIds: Type.Array(Id, { description: 'The members who get it no more, by their own wish.' }),
  nextAt: Type.String({ ...Timestamp, description: 'When it is sent next.' }),
  last: Type.Unsafe<Static<typeof LastReport> | null>({
    anyOf: [LastReport, { type: 'null' }],
    description: 'What was sent last; null before the first time.',
  }),
  problem: Type.Unsafe<string | null>({
    ...NullableString,
    description: 'Why the last period was not sent, or not to everyone; null when it was.',
  }),
  version: Type.Integer({ description: 'The number of changes.' }),
  createdAt: Timestamp,
  updatedAt: Timestamp,
})
export type SubscriptionView = Static<typeof SubscriptionView>

const tag = 'Subscriptions'
const collection = '/api/projects/{projectId}/subscriptions'
const one = `${collection}/{id}`
const viewer = { by: 'project', role: 'viewer' } as const
const editor = { by: 'project', role: 'editor' } as const
const member = { by: 'project', role: 'viewer', tokens: false, keys: false } as const
const subscription = { description: 'The subscription', schema: SubscriptionView }

export const createSubscription = defineOperation({
  id: 'createSubscription',
  method: 'post',
  path: collection,
  tag,
  summary: 'Send a dashboard by email after each day, week or month',
  description:
    'Each recipient gets one email for each period, with figures, their changes from the period before, and pictures. The ' +
    `first one is about the period that ends next. It shows the first ${MAX_SUBSCRIPTION_TILES} insights, and goes to at most ` +
    `${MAX_SUBSCRIPTION_RECIPIENTS} members.`,
  access: editor,
  effects: [],
  body: NewSubscription,
  answers: { 201: subscription },
})

export const listSubscriptions = defineOperation({
  id: 'listSubscriptions',
  method: 'get',
  path: collection,
  tag,
  summary: 'List subscriptions',
  access: viewer,
  query: PageQuery,
  answers: {
    200: { description: 'A page of subscriptions, the newest first', schema: pageOf(SubscriptionView) },
  },
})

export const getSubscription = defineOperation({
  id: 'getSubscription',
  method: 'get',
  path: one,
  tag,
  summary: 'Read a subscription',
  access: viewer,
  answers: { 200: subscription },
})

export const updateSubscription = defineOperation({
  id: 'updateSubscription',
  method: 'patch',
  path: one,
  tag,
  summary: 'Change a subscription',
  description: 'Periods that have ended are not sent again.',
  access: editor,
  effects: [],
  body: SubscriptionPatch,
  answers: { 200: subscription },
})

export const deleteSubscription = defineOperation({
  id: 'deleteSubscription',
  method: 'delete',
  path: one,
  tag,
  summary: 'Delete a subscription',
  description: 'Emails that wait are not sent.',
  access: editor,
  effects: [],
  answers: { 204: { description: 'Deleted' } },
})

export const testSubscription = defineOperation({
  id: 'testSubscription',
  method: 'post',
  path: `${one}/test`,
  tag,
  summary: 'Send a subscription to yourself now',
  description:
    'An email about the newest period, within some seconds. What is sent to everyone does not change.',
  access: member,
  effects: [],
  answers: { 202: { description: 'Queued' } },
})

export const resubscribe = defineOperation({
  id: 'resubscribe',
  method: 'post',
  path: `${one}/resubscribe`,
  tag,
  summary: 'Get a subscription again after unsubscribing',
  access: member,
  effects: [],
  answers: { 200: subscription },
})

export const subscriptionOperations = [
  createSubscription,
  listSubscriptions,
  getSubscription,
  updateSubscription,
  deleteSubscription,
  testSubscription,
  resubscribe,
]

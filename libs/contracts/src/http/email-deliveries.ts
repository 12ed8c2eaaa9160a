import { Type } from 'typebox'
import { emailDeliveryStatuses } from '../email.ts'
import { Id, NullableString, NullableTimestamp, Timestamp } from '../schema-parts.ts'
import { Unprocessable } from './error-bodies.ts'
import { defineOperation } from './operation.ts'
import { pageOf, pageParameters } from './page.ts'

const Status = Type.Enum(emailDeliveryStatuses)

/** A delivery in the management API. */
export const EmailDeliveryView = Type.Object({
  id: Id,
  triggerId: Id,
  eventId: Type.String(),
  profileId: NullableString,
  recipient: NullableString,
  status: Status,
  reason: Type.Unsafe<string | null>({
    ...NullableString,
    description:
      'The reason for the status. For `pending`: why it waits, such as for the limit of emails per hour.',
  }),
  attempts: Type.Integer(),
  nextAttemptAt: NullableTimestamp,
  test: Type.Boolean(),
  createdAt: Timestamp,
  sentAt: NullableTimestamp,
})

const DeliveryQuery = Type.Object({
  ...pageParameters,
  triggerId: Type.Optional(Type.String({ format: 'uuid' })),
  status: Type.Optional(Status),
})

const tag = 'Email deliveries'
const collection = '/api/projects/{projectId}/email-deliveries'

export const listEmailDeliveries = defineOperation({
  id: 'listEmailDeliveries',
  method: 'get',
  path: collection,
  tag,
  summary: 'List the deliveries of a trigger',
  description: 'Use `status=failed` to list the dead letters.',
  access: { by: 'project', role: 'viewer' },
  query: DeliveryQuery,
  answers: {
    200: { description: 'A page of deliveries, the newest first', schema: pageOf(EmailDeliveryView) },
  },
})

export const retryEmailDelivery = defineOperation({
  id: 'retryEmailDelivery',
  method: 'post',
  path: `${collection}/{id}/retry`,
  tag,
  summary: 'Retry a failed delivery',
  access: { by: 'project', role: 'editor' },
  effects: [],
  answers: {
    202: { description: 'The email is queued', schema: EmailDeliveryView },
    422: { description: 'The delivery has not failed', schema: Unprocessable },
  },
})

export const emailDeliveryOperations = [listEmailDeliveries, retryEmailDelivery]

import { Type } from 'typebox'
import { Id, NullableString, NullableTimestamp, Timestamp } from '../schema-parts.ts'
import { ErrorBody, RetryAfter } from './error-bodies.ts'
import { defineOperation } from './operation.ts'
import { PageQuery, pageOf } from './page.ts'

const senderStatuses = ['pending', 'verified'] as const

const EmailSenderView = Type.Object({
  id: Id,
  sender: Type.String({ description: 'An address, or a domain with all its addresses.' }),
  recipient: Type.String({
    description: 'The recipient of the verification link: the address, or the postmaster of a domain.',
  }),
  status: Type.Enum(senderStatuses),
  mailError: Type.Unsafe<string | null>({
    ...NullableString,
    description: 'Why the link could not be sent; null when it was sent or is queued.',
  }),
  verifiedAt: NullableTimestamp,
  createdAt: Timestamp,
})

const NewEmailSender = Type.Object({
  sender: Type.String({
    minLength: 3,
    maxLength: 254,
    description: '`hello@shop.example` or `shop.example`.',
  }),
})

const tag = 'Email senders'
const collection = '/api/projects/{projectId}/email-senders'
const access = { by: 'project', role: 'admin' } as const
const sender = { description: 'The sender', schema: EmailSenderView }

export const createEmailSender = defineOperation({
  id: 'createEmailSender',
  method: 'post',
  path: collection,
  tag,
  summary: 'Add a sender: an address or a domain',
  description:
    'A verification link is sent to the address, or to the postmaster of the domain. It is valid once and for' +
    ' 24 hours. Following it allows all projects of the tenant to send from there. A repeat sends a new link,' +
    ' which replaces the previous one. At most 5 links per hour and tenant. A recipient gets 3 a day from a tenant that ' +
    'has proved the domain or of which an admin has a confirmed address in it, and 3 from all others together.',
  access,
  effects: ['destination'],
  limited: true,
  body: NewEmailSender,
  answers: { 201: sender, 200: { ...sender, description: 'The sender exists already' } },
})

export const listEmailSenders = defineOperation({
  id: 'listEmailSenders',
  method: 'get',
  path: collection,
  tag,
  summary: 'List the senders of the project’s tenant',
  access,
  query: PageQuery,
  answers: { 200: { description: 'A page of senders, the newest first', schema: pageOf(EmailSenderView) } },
})

export const deleteEmailSender = defineOperation({
  id: 'deleteEmailSender',
  method: 'delete',
  path: `${collection}/{id}`,
  tag,
  summary: 'Remove a sender',
  description: 'Emails of triggers with this sender fail from then on.',
  access,
  effects: [],
  answers: { 204: { description: 'The sender was removed' } },
})

const page = { description: 'A page for people', contentTypes: ['text/html'] }
const unknownLink = { description: 'The link is not valid, was used or has expired', schema: ErrorBody }
const storeAway = { description: 'The database does not answer; repeat later', schema: RetryAfter }

export const showEmailSender = defineOperation({
  id: 'showEmailSender',
  method: 'get',
  path: '/u/senders/{token}',
  tag,
  summary: 'Show the page that verifies a sender',
  description: 'This request changes nothing, because mail scanners follow links.',
  access: { by: 'anyone' },
  answers: { 200: page, 404: unknownLink, 503: storeAway },
})

export const verifyEmailSender = defineOperation({
  id: 'verifyEmailSender',
  method: 'post',
  path: '/u/senders/{token}',
  tag,
  summary: 'Verify a sender',
  access: { by: 'anyone' },
  answers: { 200: page, 404: unknownLink, 503: storeAway },
})

export const emailSenderOperations = [
  createEmailSender,
  listEmailSenders,
  deleteEmailSender,
  showEmailSender,
  verifyEmailSender,
]

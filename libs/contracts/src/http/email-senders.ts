import { Type } from 'typebox'
import { Id, NullableString, NullableTimestamp, Timestamp } from '../schema-parts.ts'
import { ErrorBody, RetryAfter } from './error-bodies.ts'
import { defineOperation } from './operation.ts'
import { PageQuery, pageOf } from './page.ts'

const senderStatuses = ['pending', 'verified'] as const

const EmailSenderView = Type.Object({
  id: Id,
  sender: Type.String({ description: 'An address, or a domain with all of its addresses.' }),
  recipient: Type.String({ description: 'Who gets the link that verifies it: of a domain, its postmaster.' }),
  status: Type.Enum(senderStatuses),
  mailError: Type.Unsafe<string | null>({
    ...NullableString,
    description: 'Why the link could not be sent; null when it was, or is yet to be.',
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
    'A link is mailed to the address, or to the postmaster of the domain; it is good once and for 24 hours. Who follows it ' +
    'lets all projects of the tenant send from there. Asking again sends another link in place of the one before. At most ' +
    '5 links an hour for a tenant, and 3 a day to one recipient.',
  access,
  limited: true,
  body: NewEmailSender,
  answers: { 201: sender, 200: { ...sender, description: 'It was asked for already' } },
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
  description: 'Emails of triggers that come from it are not sent any more; they fail, with the reason.',
  access,
  answers: { 204: { description: 'Withdrawn' } },
})

const page = { description: 'A page for people', contentTypes: ['text/html'] }
const unknownLink = { description: 'Not a link, or one that was used or has expired', schema: ErrorBody }
const storeAway = { description: 'The database does not answer; repeat later', schema: RetryAfter }

export const showEmailSender = defineOperation({
  id: 'showEmailSender',
  method: 'get',
  path: '/u/senders/{token}',
  tag,
  summary: 'Show the page that verifies a sender',
  description: 'Changes nothing, since mail scanners follow links.',
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

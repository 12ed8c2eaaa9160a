import { type Static, Type } from 'typebox'
import { emailDeliveryStatuses, emailTriggerStatuses } from '../email.ts'
import {
  Id,
  JsonObject,
  Name,
  NullableString,
  NullableTimestamp,
  notBlank,
  openObject,
  Timestamp,
} from '../schema-parts.ts'
import { EmailDeliveryView } from './email-deliveries.ts'
import { defineOperation } from './operation.ts'
import { PageQuery, pageOf } from './page.ts'

const Status = Type.Enum(emailTriggerStatuses, {
  description: 'Only an active trigger sends emails. Archiving is permanent.',
})
const templates = {
  subject: Type.String({
    minLength: 1,
    maxLength: 500,
    ...notBlank,
    description: 'A Handlebars template that renders one line of text.',
  }),
  html: Type.String({
    minLength: 1,
    maxLength: 102_400,
    ...notBlank,
    description:
      'A Handlebars template with `traits`, `event`, `profile`, `project` and `unsubscribeUrl`. Values are ' +
      'escaped. An unsubscribe link is added at the end if the template has none.',
  }),
}
const optional = {
  filter: Type.Optional(
    Type.Unknown({ description: 'A JsonLogic condition on the event. Default: every event of this name.' }),
  ),
  from: Type.Optional(
    Type.Unsafe<string | null>({
      type: ['string', 'null'],
      maxLength: 500,
      description:
        'The sender, such as `Shop <hello@shop.example>`. The deployment must allow it, or the tenant must have ' +
        'verified it. Null: the sender of the deployment.',
    }),
  ),
  cooldownSeconds: Type.Optional(
    Type.Integer({
      minimum: 0,
      maximum: 31_536_000,
      description: 'The minimum time between two emails to the same profile.',
    }),
  ),
  status: Type.Optional(Status),
}

const NewEmailTrigger = Type.Object({ name: Name, eventName: Name, ...templates, ...optional })
const EmailTriggerPatch = Type.Partial(NewEmailTrigger)

export const EmailTriggerView = Type.Object({
  id: Id,
  name: Type.String(),
  eventName: Type.String(),
  filter: Type.Unknown(),
  subject: Type.String(),
  html: Type.String(),
  from: NullableString,
  cooldownSeconds: Type.Integer(),
  status: Status,
  activatedAt: Type.Unsafe<string | null>({
    ...NullableTimestamp,
    description: 'Events received before this time send no email.',
  }),
  version: Type.Integer({ description: 'The number of changes.' }),
  createdAt: Timestamp,
  updatedAt: Timestamp,
})

const sample = {
  traits: Type.Optional(JsonObject),
  properties: Type.Optional(openObject('Of the event.')),
}
const PreviewOfTemplates = Type.Object({ ...templates, ...sample })
const PreviewOfTrigger = Type.Object(sample)
const Preview = Type.Object({ subject: Type.String(), html: Type.String(), text: Type.String() })

const TestSend = Type.Object({
  to: Type.String({
    minLength: 3,
    maxLength: 254,
    description: 'The address of a member of the project.',
  }),
  ...sample,
})

const Stats = Type.Object({
  triggerId: Id,
  counts: Type.Object(Object.fromEntries(emailDeliveryStatuses.map((status) => [status, Type.Integer()])), {
    description: 'Deliveries by status, without test emails.',
  }),
})

const StatusQuery = Type.Object({ ...PageQuery.properties, status: Type.Optional(Status) })
export type EmailTriggerSample = Static<typeof PreviewOfTrigger>

const tag = 'Email triggers'
const collection = '/api/projects/{projectId}/email-triggers'
const one = `${collection}/{id}`
const trigger = { description: 'The trigger', schema: EmailTriggerView }
const rendered = { description: 'The rendered email', schema: Preview }

export const createEmailTrigger = defineOperation({
  id: 'createEmailTrigger',
  method: 'post',
  path: collection,
  tag,
  summary: 'Create an email trigger',
  description:
    'The default status is draft. Events received before the activation, events of bots and backfilled events' +
    ' send no email. A profile without the trait `email` is skipped.',
  access: { by: 'project', role: 'editor' },
  effects: [],
  body: NewEmailTrigger,
  answers: { 201: trigger },
})

export const listEmailTriggers = defineOperation({
  id: 'listEmailTriggers',
  method: 'get',
  path: collection,
  tag,
  summary: 'List email triggers',
  description: 'Archived triggers are listed only with `status=archived`.',
  access: { by: 'project', role: 'viewer' },
  query: StatusQuery,
  answers: {
    200: { description: 'A page of triggers, the newest first', schema: pageOf(EmailTriggerView) },
  },
})

export const getEmailTrigger = defineOperation({
  id: 'getEmailTrigger',
  method: 'get',
  path: one,
  tag,
  summary: 'Read an email trigger',
  access: { by: 'project', role: 'viewer' },
  answers: { 200: trigger },
})

export const updateEmailTrigger = defineOperation({
  id: 'updateEmailTrigger',
  method: 'patch',
  path: one,
  tag,
  summary: 'Change an email trigger',
  description:
    'Queued emails use the new templates. They are not sent when the trigger is paused or archived.',
  access: { by: 'project', role: 'editor' },
  effects: [],
  body: EmailTriggerPatch,
  answers: { 200: trigger },
})

export const archiveEmailTrigger = defineOperation({
  id: 'archiveEmailTrigger',
  method: 'delete',
  path: one,
  tag,
  summary: 'Archive an email trigger',
  access: { by: 'project', role: 'editor' },
  effects: [],
  answers: { 204: { description: 'Archived' } },
})

export const previewEmail = defineOperation({
  id: 'previewEmail',
  method: 'post',
  readOnly: true,
  path: `${collection}/preview`,
  tag,
  summary: 'Preview templates with an event before saving them',
  access: { by: 'project', role: 'viewer' },
  body: PreviewOfTemplates,
  answers: { 200: rendered },
})

export const previewEmailTrigger = defineOperation({
  id: 'previewEmailTrigger',
  method: 'post',
  readOnly: true,
  path: `${one}/preview`,
  tag,
  summary: 'Preview the email that a trigger sends for an event',
  access: { by: 'project', role: 'viewer' },
  body: PreviewOfTrigger,
  answers: { 200: rendered },
})

export const testEmailTrigger = defineOperation({
  id: 'testEmailTrigger',
  method: 'post',
  path: `${one}/test`,
  tag,
  summary: 'Send a trigger’s email to yourself or another member',
  description:
    'At most 10 per minute and project, for a trigger of any status. The subject begins with `[Test]`.',
  access: { by: 'project', role: 'editor' },
  effects: [],
  limited: true,
  body: TestSend,
  answers: { 202: { description: 'The email is queued', schema: EmailDeliveryView } },
})

export const getEmailTriggerStats = defineOperation({
  id: 'getEmailTriggerStats',
  method: 'get',
  path: `${one}/stats`,
  tag,
  summary: 'Count the deliveries of a trigger by status',
  access: { by: 'project', role: 'viewer' },
  answers: { 200: { description: 'The counts', schema: Stats } },
})

export const emailTriggerOperations = [
  createEmailTrigger,
  listEmailTriggers,
  getEmailTrigger,
  updateEmailTrigger,
  archiveEmailTrigger,
  previewEmail,
  previewEmailTrigger,
  testEmailTrigger,
  getEmailTriggerStats,
]

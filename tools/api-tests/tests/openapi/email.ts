import { randomUUID } from 'node:crypto'
import { backtestEmailTrigger } from '@waymark/contracts/http/backtests'
import { listEmailDeliveries, retryEmailDelivery } from '@waymark/contracts/http/email-deliveries'
import { reportBounces, showUnsubscribe, unsubscribe } from '@waymark/contracts/http/email-feedback'
import {
  createEmailSender,
  deleteEmailSender,
  listEmailSenders,
  showEmailSender,
  verifyEmailSender,
} from '@waymark/contracts/http/email-senders'
import {
  archiveEmailTrigger,
  createEmailTrigger,
  getEmailTrigger,
  getEmailTriggerStats,
  listEmailTriggers,
  previewEmail,
  previewEmailTrigger,
  testEmailTrigger,
  updateEmailTrigger,
} from '@waymark/contracts/http/email-triggers'
import { createSuppression, deleteSuppression, listSuppressions } from '@waymark/contracts/http/suppressions'
import { eventually } from '@waymark/testing'
import { asOwner, type Example, stringIn } from './example.ts'
import { type Call, REFUSED_DOMAIN, type World } from './world.ts'

const TESTS_PER_MINUTE = 10
const LINKS_PER_DAY = 3

const templates = { subject: 'Thank you', html: '<p>For {{event.properties.total}}</p>' }
const aTrigger = () => ({ name: 'Thanks', eventName: `ordered ${randomUUID()}`, ...templates })
const anAddress = () => ({ address: `${randomUUID()}@example.com` })
const sample = { traits: { name: 'Ada' }, properties: { total: 3 } }

const idOf = async (created: ReturnType<World['call']>) => ({ id: stringIn((await created).body, 'id') })
const onTrigger = async ({ call }: World) => ({
  params: await idOf(call(createEmailTrigger, { body: aTrigger() })),
})

/** A request for a test email to a member of a new project, because their number is limited per project. */
const aTest = async (world: World, domain?: string) => {
  const { headers, projectId } = await world.signIn()
  const owner = { key: null, headers, params: { projectId } }
  const { email: to } = await world.signIn({ projectId, ...(domain !== undefined && { domain }) })
  const { id } = await idOf(world.call(createEmailTrigger, { ...owner, body: aTrigger() }))
  return { ...owner, params: { ...owner.params, id }, body: { to, ...sample } }
}

/** A sent or refused delivery, and a request that names it. */
const aDelivery = async (
  world: World,
  status: 'sent' | 'failed',
): Promise<Call & { params: { id: string } }> => {
  const { body, ...test } = await aTest(world, status === 'sent' ? undefined : REFUSED_DOMAIN)
  const { id } = await idOf(world.call(testEmailTrigger, { ...test, body: { to: body.to } }))
  await eventually(`the delivery is ${status}`, async () => {
    const listed = await world.call(listEmailDeliveries, { ...test, query: { status } })
    return (listed.body as { data: unknown[] }).data.length > 0
  })
  return { ...test, params: { ...test.params, id } }
}

/** The unsubscribe link of an email. */
const linkInMail = async (world: World): Promise<Call> => {
  const { params } = await aDelivery(world, 'sent')
  const token = /\/u\/([^>\s]+)>/.exec(await world.mail(params.id))?.[1]
  if (token === undefined) throw new Error('the email has no link to unsubscribe')
  return { key: null, params: { token } }
}

/** A sender of a new tenant, because verification emails are limited per tenant. */
const aSender = async (world: World): Promise<Call> => ({
  ...(await asOwner(world)),
  body: { sender: `${randomUUID()}@example.com` },
})

const onSender = async (world: World): Promise<Call & { params: { id: string } }> => {
  const { body, ...owner } = await aSender(world)
  const { id } = await idOf(world.call(createEmailSender, { ...owner, body }))
  return { ...owner, params: { ...owner.params, id } }
}

/** The verification link of a sender. */
const linkToVerify = async (world: World): Promise<Call> => {
  const { params } = await onSender(world)
  const text = await eventually('the link is mailed', () => world.mail(params.id).catch(() => undefined))
  // Quoted-printable breaks long lines, so the token may be split.
  const token = /\/u\/senders\/([\w-]{43})/.exec(text.replaceAll('=\r\n', ''))?.[1]
  if (token === undefined) throw new Error('the email has no link')
  return { key: null, params: { token } }
}

export const emailExamples: Example[] = [
  { operation: createEmailTrigger, good: () => ({ body: aTrigger() }) },
  { operation: listEmailTriggers, good: () => ({ query: { limit: '2', status: 'draft' } }) },
  { operation: getEmailTrigger, good: onTrigger },
  {
    operation: updateEmailTrigger,
    good: async (world) => ({ ...(await onTrigger(world)), body: { name: 'New' } }),
  },
  { operation: archiveEmailTrigger, good: onTrigger },
  { operation: previewEmail, good: () => ({ body: { ...templates, ...sample } }) },
  { operation: previewEmailTrigger, good: async (world) => ({ ...(await onTrigger(world)), body: sample }) },
  {
    operation: testEmailTrigger,
    good: (world) => aTest(world),
    others: {
      429: async (world) => {
        const test = await aTest(world)
        for (let sent = 0; sent < TESTS_PER_MINUTE; sent++) await world.call(testEmailTrigger, test)
        return test
      },
    },
  },
  {
    operation: backtestEmailTrigger,
    good: async (world) => ({ ...(await onTrigger(world)), body: { days: 1 } }),
  },
  { operation: getEmailTriggerStats, good: onTrigger },
  { operation: listEmailDeliveries, good: () => ({ query: { limit: '2', status: 'failed' } }) },
  {
    operation: retryEmailDelivery,
    good: (world) => aDelivery(world, 'failed'),
    others: { 422: (world) => aDelivery(world, 'sent') },
  },
  { operation: listSuppressions, good: () => ({ query: anAddress() }) },
  {
    operation: createSuppression,
    good: () => ({ body: anAddress() }),
    others: {
      200: async ({ call }) => {
        const body = anAddress()
        await call(createSuppression, { body })
        return { body }
      },
    },
  },
  {
    operation: deleteSuppression,
    good: async ({ call }) => ({ params: await idOf(call(createSuppression, { body: anAddress() })) }),
  },
  {
    operation: createEmailSender,
    good: aSender,
    others: {
      200: async (world) => {
        const sender = await aSender(world)
        await world.call(createEmailSender, sender)
        return sender
      },
      429: async (world) => {
        const sender = await aSender(world)
        for (let asked = 0; asked < LINKS_PER_DAY; asked++) await world.call(createEmailSender, sender)
        return sender
      },
    },
  },
  { operation: listEmailSenders, good: () => ({ query: { limit: '2' } }) },
  { operation: deleteEmailSender, good: onSender },
  { operation: showEmailSender, good: linkToVerify },
  { operation: verifyEmailSender, good: linkToVerify },
  { operation: showUnsubscribe, good: linkInMail },
  { operation: unsubscribe, good: linkInMail },
  {
    operation: reportBounces,
    good: () => ({ body: { bounces: [{ ...anAddress(), type: 'hard', reason: 'No such mailbox' }] } }),
  },
]

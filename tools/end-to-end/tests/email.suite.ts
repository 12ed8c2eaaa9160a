import { randomUUID } from 'node:crypto'
import { readdir, readFile } from 'node:fs/promises'
import path from 'node:path'
import { type Constellation, createClient, eventually, type Json } from '@waymark/testing'
import { afterAll, beforeAll, expect, it } from 'vitest'

type Delivery = {
  id: string
  eventId: string
  status: string
  recipient: string | null
  [field: string]: unknown
}

/** Emails that events trigger, from the trigger to the message file. */
export const describeEmail = (start: () => Promise<Constellation>): void => {
  let waymark: Constellation

  beforeAll(async () => {
    waymark = await start()
  })
  afterAll(() => waymark?.stop())

  const { call, manage } = createClient(() => waymark)
  const deliveriesOf = async (triggerId: string): Promise<Delivery[]> =>
    (await manage('GET', `email-deliveries?triggerId=${triggerId}`)).body.data as Delivery[]
  const finished = (triggerId: string, eventId: string) =>
    eventually(`${eventId} is decided and done with`, async () => {
      const found = (await deliveriesOf(triggerId)).find((delivery) => delivery.eventId === eventId)
      return found && !['pending', 'sending'].includes(found.status) && found
    })
  const mailOf = async ({ id }: Delivery): Promise<string> => {
    const text = await readFile(path.join(waymark.mailDir, `${id}.eml`), 'utf8')
    // Decodes quoted-printable for ASCII.
    return text
      .replaceAll('=\r\n', '')
      .replace(/=([0-9A-F]{2})/g, (_, hex) => String.fromCharCode(parseInt(hex, 16)))
  }
  const activeTrigger = async (fields: Json = {}): Promise<{ id: string; eventName: string }> => {
    const eventName = `event-${randomUUID()}`
    const { status, body } = await manage('POST', 'email-triggers', {
      name: 'Welcome',
      eventName,
      subject: 'Hello {{traits.name}}',
      html: '<p>Thank you for {{event.properties.item}}, {{traits.name}}.</p>',
      status: 'active',
      ...fields,
    })
    expect(status).toBe(201)
    return body as { id: string; eventName: string }
  }
  const identify = async (traits: Json): Promise<string> => {
    const visitorId = `v-${randomUUID()}`
    const reply = await call('POST', '/api/v1/identify', { visitorId, userId: `u-${randomUUID()}`, traits })
    expect(reply.status).toBe(202)
    return visitorId
  }
  const track = async (eventName: string, visitorId: string, rest: Json = {}): Promise<string> => {
    const eventId = randomUUID()
    expect((await call('POST', '/api/v1/t', { eventName, visitorId, eventId, ...rest })).status).toBe(202)
    return eventId
  }
  /** Every process applies a new trigger within 5 s. Until then its events fire nothing. */
  const untilItFires = async ({ id, eventName }: { id: string; eventName: string }): Promise<void> => {
    await eventually('the trigger is known', async () => {
      await track(eventName, 'nobody')
      return (await deliveriesOf(id)).length > 0
    })
  }

  it('sends an email once to a person identified before the event, and lists it', async () => {
    const trigger = await activeTrigger()
    await untilItFires(trigger)
    const visitorId = await identify({ email: 'ann@example.com', name: 'Ann <b>' })
    const event = { properties: { item: 'the <i>book</i>' } }
    const eventId = await track(trigger.eventName, visitorId, event)
    await call('POST', '/api/v1/t', { eventName: trigger.eventName, visitorId, eventId, ...event })

    const delivery = await finished(trigger.id, eventId)
    expect(delivery).toMatchObject({ status: 'sent', recipient: 'ann@example.com', attempts: 1, test: false })
    const mail = await mailOf(delivery)
    expect(mail).toMatch(/^To: ann@example.com\r$/m)
    expect(mail).toMatch(/^Subject: Hello Ann <b>\r$/m)
    expect(mail).toContain('Thank you for the &lt;i&gt;book&lt;/i&gt;, Ann &lt;b&gt;.')
    expect(mail).toContain('Thank you for the <i>book</i>, Ann <b>.')
    expect(mail).toMatch(/^List-Unsubscribe: <http:\/\/localhost(:\d+)?\/u\/[\w-]{43}>\r$/m)
    expect(mail).toMatch(/^List-Unsubscribe-Post: List-Unsubscribe=One-Click\r$/m)
    expect((await readdir(waymark.mailDir)).filter((name) => name.startsWith(delivery.id))).toHaveLength(1)
    const stats = await manage('GET', `email-triggers/${trigger.id}/stats`)
    expect(stats.body.counts).toMatchObject({ sent: 1, failed: 0, pending: 0 })
  })

  it('skips people without an address, old events, backfills, bots and filtered events', async () => {
    const trigger = await activeTrigger({
      filter: { '==': [{ var: 'properties.plan' }, 'paid'] },
      status: 'draft',
    })
    const paid = { properties: { plan: 'paid' } }
    const visitorId = await identify({ email: 'ben@example.com' })
    const before = await track(trigger.eventName, visitorId, paid)
    await eventually(
      'it is stored',
      async () => ((await manage('GET', `events?eventId=${before}`)).body.data as Json[])[0],
    )
    expect((await manage('PATCH', `email-triggers/${trigger.id}`, { status: 'active' })).status).toBe(200)
    const stranger = `v-${randomUUID()}`
    await eventually('the trigger is known', async () => {
      await track(trigger.eventName, stranger, paid)
      return (await deliveriesOf(trigger.id)).length > 0
    })

    const filtered = await track(trigger.eventName, visitorId, { properties: { plan: 'free' } })
    const bot = await track(trigger.eventName, visitorId, {
      properties: { ...paid.properties, userAgent: 'Googlebot/2.1' },
    })
    const backfilled = randomUUID()
    await call('POST', '/internal/backfill/events', {
      eventName: trigger.eventName,
      visitorId,
      eventId: backfilled,
      ...paid,
    })
    const last = await track(trigger.eventName, visitorId, paid)
    expect(await finished(trigger.id, last)).toMatchObject({ status: 'sent' })
    const fired = await deliveriesOf(trigger.id)
    for (const silent of [before, filtered, bot, backfilled])
      expect(fired.map(({ eventId }) => eventId)).not.toContain(silent)
    expect(fired.filter(({ eventId }) => eventId !== last).map(({ status }) => status)).not.toContain('sent')
    expect(fired.some(({ status, recipient }) => status === 'skipped_no_email' && recipient === null)).toBe(
      true,
    )
  })

  it('replays the emails that were queued, and those within the cooldown, person by person', async () => {
    const filter = { '==': [{ var: 'properties.plan' }, 'paid'] }
    const trigger = await activeTrigger({ filter, cooldownSeconds: 86_400 })
    const paid = { properties: { plan: 'paid' } }
    await eventually('the trigger is known', async () => {
      await track(trigger.eventName, 'nobody', paid)
      return (await deliveriesOf(trigger.id)).length > 0
    })
    const address = `${randomUUID()}@example.com`
    expect((await manage('POST', 'suppressions', { address })).status).toBe(201)
    const people = await Promise.all(
      ['ann@example.com', 'ben@example.com', address, 'free@example.com'].map((email) => identify({ email })),
    )
    const [ann = '', ben = '', suppressed = '', free = ''] = people
    await track(trigger.eventName, free, { properties: { plan: 'free' } })
    for (const visitorId of [ann, ann, ben, suppressed, ann])
      await finished(trigger.id, await track(trigger.eventName, visitorId, paid))

    const deliveries = await deliveriesOf(trigger.id)
    const having = (...statuses: string[]) => deliveries.filter(({ status }) => statuses.includes(status))
    const backtest = async (more: Json = {}): Promise<Json> => {
      const reply = await manage('POST', `email-triggers/${trigger.id}/backtest`, { days: 1, ...more })
      expect([reply.status, reply.body.errors]).toEqual([200, undefined])
      return reply.body
    }
    const replayed = await eventually('all events are stored', async () => {
      const body = await backtest()
      const isStored = Number(body.suppressed) + Number(body.cooldown) === 3 && body.emails === 2
      return isStored && Number(body.noEmail) >= having('skipped_no_email').length && body
    })
    const queued = having('sent', 'unconfirmed')
    expect(replayed).toMatchObject({
      emails: queued.length,
      people: 2,
      cooldown: having('cooldown').length,
      suppressed: having('suppressed').length,
      sampled: false,
    })
    expect((replayed.sample as string[]).sort()).toEqual(
      queued.map(({ profileId }) => String(profileId)).sort(),
    )

    expect(await backtest({ cooldownSeconds: 0 })).toMatchObject({ emails: 4, cooldown: 0, people: 2 })
    expect(await backtest({ cooldownSeconds: 0, filter: null })).toMatchObject({ emails: 5, people: 3 })
    const now = (await deliveriesOf(trigger.id)).filter(({ status }) => status !== 'skipped_no_email')
    expect(now).toHaveLength(deliveries.length - having('skipped_no_email').length)
  })

  it('unsubscribes by the link in the email, and sends again after the suppression is removed', async () => {
    const trigger = await activeTrigger()
    await untilItFires(trigger)
    const visitorId = await identify({ email: 'Cleo@Example.com' })
    const first = await finished(trigger.id, await track(trigger.eventName, visitorId))
    const [, link = ''] =
      /^List-Unsubscribe: <http:\/\/localhost(?::\d+)?(\/u\/[\w-]+)>/m.exec(await mailOf(first)) ?? []
    const page = await waymark.request(link)
    expect(page.status).toBe(200)
    expect(await page.text()).toContain('C***@Example.com')
    const suppressions = 'suppressions?address=cleo@example.com'
    expect((await manage('GET', suppressions)).body.data).toEqual([])

    const oneClick = {
      method: 'POST',
      body: 'List-Unsubscribe=One-Click',
      headers: { 'Content-Type': 'application/x-www-form-urlencoded' },
    }
    expect((await waymark.request(link, oneClick)).status).toBe(200)
    expect((await waymark.request(link, oneClick)).status).toBe(200)
    const [suppression] = (await manage('GET', suppressions)).body.data as Json[]
    expect(suppression).toMatchObject({ address: 'cleo@example.com', reason: 'unsubscribed' })
    expect(await finished(trigger.id, await track(trigger.eventName, visitorId))).toMatchObject({
      status: 'suppressed',
    })

    expect((await manage('DELETE', `suppressions/${suppression?.id}`)).status).toBe(204)
    expect(await finished(trigger.id, await track(trigger.eventName, visitorId))).toMatchObject({
      status: 'sent',
    })
    const forged = `${link.slice(0, -1)}${link.endsWith('A') ? 'E' : 'A'}`
    expect((await waymark.request(forged, oneClick)).status).toBe(404)
  })

  it('suppresses bounced addresses, and marks the delivery', async () => {
    const trigger = await activeTrigger()
    await untilItFires(trigger)
    const visitorId = await identify({ email: 'gone@example.com' })
    const delivery = await finished(trigger.id, await track(trigger.eventName, visitorId))
    const [, messageId] = /^Message-ID: (.+)\r$/m.exec(await mailOf(delivery)) ?? []
    const bounces = [
      { address: 'gone@example.com', type: 'hard', reason: 'user unknown', messageId },
      { address: 'full@example.com', type: 'soft' },
    ]
    const report = () => call('POST', '/webhooks/email/bounces', { bounces })
    expect(await report()).toEqual({ status: 200, body: { suppressed: 1, bounced: 1 } })
    expect(await report()).toEqual({ status: 200, body: { suppressed: 0, bounced: 0 } })
    expect(await finished(trigger.id, delivery.eventId)).toMatchObject({
      status: 'bounced',
      reason: 'user unknown',
    })
    expect((await manage('GET', 'suppressions?address=full@example.com')).body.data).toEqual([])
    expect(await finished(trigger.id, await track(trigger.eventName, visitorId))).toMatchObject({
      status: 'suppressed',
    })
    expect(
      (await call('POST', '/webhooks/email/bounces', { bounces: [{ address: 'no', type: 'hard' }] })).status,
    ).toBe(400)
    const noKey = { method: 'POST', headers: { 'X-API-Key': 'wrong' }, body: '{}' }
    expect((await waymark.request('/webhooks/email/bounces', noKey)).status).toBe(401)
  })

  it('sends a test of a draft, and previews it', async () => {
    const trigger = await activeTrigger({ status: 'draft' })
    const sample = { traits: { name: 'Dora' }, properties: { item: 'cheese & wine' } }
    const preview = await manage('POST', `email-triggers/${trigger.id}/preview`, sample)
    expect(preview).toMatchObject({ status: 200, body: { subject: 'Hello Dora' } })
    expect(preview.body.html).toContain('<p>Thank you for cheese &amp; wine, Dora.</p>')
    expect(preview.body.text).toContain('Thank you for cheese & wine, Dora.')

    const invited = await manage('POST', 'invitations', { email: 'dora@example.com', role: 'viewer' })
    const account = { email: 'dora@example.com', password: 'a long way to the cheese', name: 'Dora' }
    const registered = await call('POST', '/api/auth/register', {
      ...account,
      invitationToken: invited.body.token,
    })
    expect(registered.status).toBe(201)
    const asked = await manage('POST', `email-triggers/${trigger.id}/test`, {
      to: 'dora@example.com',
      ...sample,
    })
    expect(asked).toMatchObject({ status: 202, body: { test: true, recipient: 'dora@example.com' } })
    const delivery = await finished(trigger.id, asked.body.eventId as string)
    expect(await mailOf(delivery)).toMatch(/^Subject: \[Test\] Hello Dora\r$/m)
    const stats = await manage('GET', `email-triggers/${trigger.id}/stats`)
    expect(stats.body.counts).toMatchObject({ sent: 0 })
    for (let n = 1; n < 10; n++) {
      const again = await manage('POST', `email-triggers/${trigger.id}/test`, { to: 'dora@example.com' })
      expect(again.status).toBe(202)
    }
    const tooMany = await manage('POST', `email-triggers/${trigger.id}/test`, { to: 'dora@example.com' })
    expect(tooMany).toMatchObject({ status: 429, body: { retryAfterSeconds: expect.any(Number) } })
  })

  it('keeps a failed delivery, and retries it after the template was fixed', async () => {
    const trigger = await activeTrigger({ html: '{{#each event.properties.list}}x{{/each}}' })
    await untilItFires(trigger)
    const visitorId = await identify({ email: 'eve@example.com' })
    const list = Array.from({ length: 10_001 }, () => 1)
    const eventId = await track(trigger.eventName, visitorId, { properties: { list } })
    const failed = await finished(trigger.id, eventId)
    expect(failed).toMatchObject({ status: 'failed', reason: expect.stringContaining('html template') })
    const dead = await manage('GET', `email-deliveries?status=failed&triggerId=${trigger.id}`)
    expect(dead.body.data).toMatchObject([{ id: failed.id }])

    await manage('PATCH', `email-triggers/${trigger.id}`, { html: '<p>{{event.properties.list.length}}</p>' })
    const retry = () => manage('POST', `email-deliveries/${failed.id}/retry`)
    expect(await retry()).toMatchObject({ status: 202, body: { status: 'pending' } })
    expect(await finished(trigger.id, eventId)).toMatchObject({ status: 'sent' })
    expect(await mailOf(failed)).toContain('10001')
    expect((await retry()).status).toBe(422)
  })

  it('refuses invalid triggers, naming the field and the line', async () => {
    const valid = { name: 'n', eventName: 'e', subject: 's', html: '<p>h</p>' }
    const refusals: [Json, string, RegExp][] = [
      [{ html: '<p>\n{{#if traits.name}}</p>' }, 'html', /^line \d/],
      [{ html: '<p>{{{traits.name}}}</p>' }, 'html', /unescaped/],
      [{ html: '{{> other}}' }, 'html', /partials/],
      [{ subject: 'Hi {{shout traits.name}}' }, 'subject', /^line 1: .*shout/],
      [{ from: 'Shop <hello@shop.example>, other@example.com' }, 'from', /address/],
      [{ from: 'a@b.example\r\nBcc: x@y.example' }, 'from', /address/],
      [{ filter: { nonsense: [1] } }, 'filter', /JsonLogic/],
      [{ cooldownSeconds: -1 }, 'cooldownSeconds', /./],
      [{ status: 'archived' }, 'status', /./],
      [{ html: 'x'.repeat(102_401) }, 'html', /./],
      [{ subject: '' }, 'subject', /./],
    ]
    for (const [change, field, message] of refusals) {
      const { status, body } = await manage('POST', 'email-triggers', { ...valid, ...change })
      expect({ status, errors: body.errors }).toMatchObject({ status: 422, errors: [{ field }] })
      expect((body.errors as { message: string }[])[0]?.message).toMatch(message)
    }
    expect((await manage('POST', 'email-triggers', { ...valid, html: 'x'.repeat(102_400) })).status).toBe(201)
  })

  it('supports the life cycle of a trigger: changed, paused, archived', async () => {
    const { id } = await activeTrigger()
    const read = async () => (await manage('GET', `email-triggers/${id}`)).body
    const first = (await read()).activatedAt
    const renamed = await manage('PATCH', `email-triggers/${id}`, { name: 'Other', filter: null })
    expect(renamed).toMatchObject({ status: 200, body: { name: 'Other', version: 2, activatedAt: first } })
    await manage('PATCH', `email-triggers/${id}`, { status: 'paused' })
    await manage('PATCH', `email-triggers/${id}`, { status: 'active' })
    expect((await read()).activatedAt).not.toBe(first)
    expect((await manage('DELETE', `email-triggers/${id}`)).status).toBe(204)
    expect(await read()).toMatchObject({ status: 'archived' })
    expect((await manage('PATCH', `email-triggers/${id}`, { status: 'active' })).status).toBe(422)
    const ids = (query: string) =>
      manage('GET', `email-triggers?limit=500${query}`).then(({ body }) =>
        (body.data as Json[]).map((one) => one.id),
      )
    expect(await ids('')).not.toContain(id)
    expect(await ids('&status=archived')).toContain(id)
    expect((await manage('GET', `email-triggers/${randomUUID()}`)).status).toBe(404)
    expect((await manage('POST', `email-deliveries/${randomUUID()}/retry`)).status).toBe(404)
  })

  it('emails links that confirm the address and reset the password of a user', async () => {
    const email = `${randomUUID()}@shop.example`
    const post = (path: string, body: object) => call('POST', `/api/auth/${path}`, body)
    const invitation = await manage('POST', 'invitations', { email, role: 'viewer' })
    const joining = { token: invitation.body.token, name: 'Vera', password: 'a long way to the shop' }
    expect((await post('invitations/accept', joining)).status).toBe(200)

    /** The token of the link to a page of the console, once the email is written. */
    const tokenFor = (page: string) =>
      eventually(`the link to ${page} was sent`, async () => {
        for (const name of await readdir(waymark.mailDir)) {
          const text = await mailOf({ id: name.replace(/\.eml$/, '') } as Delivery).catch(() => '')
          const [, token] = new RegExp(`/console/${page}\\?token=([\\w-]{43})`).exec(text) ?? []
          if (token && text.includes(email)) return token
        }
        return undefined
      })
    const confirmation = { token: await tokenFor('verify-email'), password: joining.password }
    expect((await post('verify-email', confirmation)).status).toBe(204)
    expect((await post('verify-email', confirmation)).status).toBe(422)

    expect((await post('forgot-password', { email })).status).toBe(202)
    const reset = { token: await tokenFor('reset-password'), password: 'another long way to the shop' }
    expect((await post('reset-password', reset)).status).toBe(204)
    expect((await post('reset-password', reset)).status).toBe(422)
    expect((await post('login', { email, password: joining.password })).status).toBe(401)
    expect(await post('login', { email, password: reset.password })).toMatchObject({
      status: 200,
      body: { user: { email, emailVerifiedAt: expect.any(String) } },
    })
  })
}

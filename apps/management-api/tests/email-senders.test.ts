import { randomUUID } from 'node:crypto'
import { services } from '@waymark/testing'
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { type Browser, type Management, startManagement } from './start-management.ts'

type Json = Record<string, unknown>

describe.skipIf(!services)('the sender of emails', () => {
  let management: Management
  let owner: Browser & { account: { projects: { id: string; tenantId: string }[] } }
  let projectId: string
  let tenantId: string

  beforeAll(async () => {
    management = await startManagement()
  })
  beforeEach(async () => {
    owner = await management.register()
    projectId = owner.account.projects[0]?.id ?? ''
    tenantId = owner.account.projects[0]?.tenantId ?? ''
  })
  afterAll(() => management?.stop())

  const ask = async (
    method: string,
    resource: string,
    body?: unknown,
    as: Browser = owner,
    project = projectId,
  ) => {
    const response = await as.request(method, `/api/projects/${project}/${resource}`, body)
    const text = await response.text()
    return { status: response.status, body: (text === '' ? {} : JSON.parse(text)) as Json }
  }
  const trigger = (from: string | null, values: Json = {}) =>
    ask('POST', 'email-triggers', {
      name: 'Welcome',
      eventName: 'signed_up',
      subject: 'Hello',
      html: '<p>Hello</p>',
      from,
      ...values,
    })
  const verify = (id: unknown) =>
    management.db.prisma.emailSender.update({ where: { id: `${id}` }, data: { verifiedAt: new Date() } })
  const refused = {
    status: 422,
    body: {
      errors: [{ field: 'from', rule: 'sender', message: expect.stringContaining('MAIL_ALLOWED_SENDERS') }],
    },
  }

  it('may be the deployment’s address, or in a domain that the deployment allows', async () => {
    expect((await trigger(null)).status).toBe(201)
    expect((await trigger('Shop <hello@allowed.example>')).status).toBe(201)
    expect((await trigger('Shop <Hello@Allowed.Example>')).status).toBe(201)
    for (const from of [
      'a@other.example',
      'a@sub.allowed.example',
      'a@notallowed.example',
      'a@allowed.example <b@other.example>',
    ])
      expect(await trigger(from), from).toMatchObject(refused)
  })

  it('may be verified by the tenant, for all its projects and no other tenant', async () => {
    const asked = await ask('POST', 'email-senders', { sender: 'Hello@Shop.example' })
    expect(asked).toMatchObject({
      status: 201,
      body: { sender: 'hello@shop.example', recipient: 'hello@shop.example', status: 'pending' },
    })
    expect(asked.body).not.toHaveProperty('tokenHash')
    expect(await trigger('Shop <hello@shop.example>')).toMatchObject(refused)
    await verify(asked.body.id)
    expect((await trigger('Shop <hello@shop.example>')).status).toBe(201)
    expect(await trigger('Shop <other@shop.example>')).toMatchObject(refused)

    const domain = await ask('POST', 'email-senders', { sender: 'own.example' })
    expect(domain.body).toMatchObject({ recipient: 'postmaster@own.example' })
    await verify(domain.body.id)
    expect((await trigger('Shop <other@own.example>')).status).toBe(201)

    const stranger = await management.register()
    const foreign = stranger.account.projects[0]?.id ?? ''
    const body = { name: 'W', eventName: 'e', subject: 's', html: 'h', from: 'hello@own.example' }
    expect(await ask('POST', 'email-triggers', body, stranger, foreign)).toMatchObject(refused)
    expect((await ask('GET', 'email-senders', undefined, stranger, foreign)).body.data).toEqual([])
    expect(
      (await ask('DELETE', `email-senders/${domain.body.id}`, undefined, stranger, foreign)).status,
    ).toBe(404)
  })

  it('is checked when a trigger is changed or activated, not when it is paused', async () => {
    const { body } = await ask('POST', 'email-senders', { sender: 'shop.example' })
    await verify(body.id)
    const made = await trigger('a@shop.example', { status: 'active' })
    const patch = (change: Json) => ask('PATCH', `email-triggers/${made.body.id}`, change)
    expect(await patch({ from: 'a@other.example' })).toMatchObject(refused)
    expect((await ask('DELETE', `email-senders/${body.id}`)).status).toBe(204)
    expect((await patch({ status: 'paused' })).status).toBe(200)
    expect((await patch({ name: 'Still' })).status).toBe(200)
    expect(await patch({ status: 'active' })).toMatchObject(refused)
    expect((await patch({ status: 'active', from: null })).status).toBe(200)
  })

  it('is refused when invalid, and one recipient gets at most three links a day over all tenants', async () => {
    for (const sender of ['nonsense', 'a@b@c.example', '*.example'])
      expect(await ask('POST', 'email-senders', { sender })).toMatchObject({
        status: 422,
        body: { errors: [{ field: 'sender' }] },
      })
    const victim = { sender: `${randomUUID()}@example.com` }
    const statuses: number[] = []
    for (let n = 0; n < 2; n++) statuses.push((await ask('POST', 'email-senders', victim)).status)
    const stranger = await management.register()
    const foreign = stranger.account.projects[0]?.id ?? ''
    for (let n = 0; n < 2; n++)
      statuses.push((await ask('POST', 'email-senders', victim, stranger, foreign)).status)
    expect(statuses).toEqual([201, 200, 201, 429])
  })

  it('can be verified by its owner although strangers have used up the links of the day', async () => {
    const domain = `${randomUUID()}.example`
    const stranger = await management.register()
    const foreign = stranger.account.projects[0]?.id ?? ''
    const request = (as: Browser, project: string) =>
      ask('POST', 'email-senders', { sender: domain }, as, project)
    const statuses: number[] = []
    for (let n = 0; n < 4; n++) statuses.push((await request(stranger, foreign)).status)
    expect(statuses).toEqual([201, 200, 200, 429])
    const mine = await management.register(`ann@${domain}`)
    const own = mine.account.projects[0]?.id ?? ''
    // An address that anyone could have registered proves nothing.
    expect((await request(mine, own)).status).toBe(429)
    await management.db.prisma.user.update({
      where: { email: `ann@${domain}` },
      data: { emailVerifiedAt: new Date() },
    })
    const mineStatuses: number[] = []
    for (let n = 0; n < 4; n++) mineStatuses.push((await request(mine, own)).status)
    expect(mineStatuses).toEqual([201, 200, 200, 429])
  })

  it('can be verified with up to five links an hour per tenant', async () => {
    const statuses: number[] = []
    for (let n = 0; n < 6; n++)
      statuses.push((await ask('POST', 'email-senders', { sender: `${randomUUID()}@example.com` })).status)
    expect(statuses).toEqual([201, 201, 201, 201, 201, 429])
    expect(await management.db.prisma.emailSender.count({ where: { tenantId } })).toBe(5)
  })
})

import { services } from '@waymark/testing'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { type Management, startManagement } from './start-management.ts'

describe.skipIf(!services)('a test email', () => {
  let management: Management
  beforeAll(async () => {
    management = await startManagement()
  })
  afterAll(() => management?.stop())

  it.each([
    [{}, { name: 'Ada Lovelace', email: 'me@example.com' }],
    [{ traits: { name: 'Grace' } }, { name: 'Grace', email: 'me@example.com' }],
  ])('with %j is rendered with %j', async (sample, traits) => {
    const user = await management.register()
    const base = `/api/projects/${user.account.projects[0]?.id}/email-triggers`
    const trigger = {
      name: 'Welcome',
      eventName: 'signed_up',
      subject: 'Hello',
      html: '<p>{{traits.name}}</p>',
    }
    const { id } = (await (await user.request('POST', base, trigger)).json()) as { id: string }
    const sent = await user.request('POST', `${base}/${id}/test`, { to: 'me@example.com', ...sample })
    expect(sent.status).toBe(202)
    const delivery = (await sent.json()) as { id: string }
    const { context } = await management.db.prisma.emailDelivery.findUniqueOrThrow({
      where: { id: delivery.id },
    })
    expect(context).toMatchObject({ traits })
  })
})

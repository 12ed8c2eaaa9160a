import { services } from '@waymark/testing'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { type Management, startManagement } from './start-management.ts'

describe.skipIf(!services)('a test email', () => {
  let management: Management
  beforeAll(async () => {
    management = await startManagement()
  })
  afterAll(() => management?.stop())

  /** A trigger of a new project, its owner, and how to send its test email. */
  const aTrigger = async () => {
    const owner = await management.register()
    const base = `/api/projects/${owner.account.projects[0]?.id}/email-triggers`
    const trigger = {
      name: 'Welcome',
      eventName: 'signed_up',
      subject: 'Hello',
      html: '<p>{{traits.name}}</p>',
    }
    const { id } = (await (await owner.request('POST', base, trigger)).json()) as { id: string }
    return {
      owner,
      projectId: `${owner.account.projects[0]?.id}`,
      test: (to: string, sample = {}) => owner.request('POST', `${base}/${id}/test`, { to, ...sample }),
    }
  }

  it.each([
    [{}, { name: 'Ada Lovelace' }],
    [{ traits: { name: 'Grace' } }, { name: 'Grace' }],
  ])('with %j is rendered with %j', async (sample, traits) => {
    const { owner, test } = await aTrigger()
    const { email } = owner.account.user
    const sent = await test(email, sample)
    expect(sent.status).toBe(202)
    const delivery = (await sent.json()) as { id: string }
    const { context } = await management.db.prisma.emailDelivery.findUniqueOrThrow({
      where: { id: delivery.id },
    })
    expect(context).toMatchObject({ traits: { ...traits, email } })
  })

  it('goes to members of the project only', async () => {
    const { projectId, test } = await aTrigger()
    const member = await management.member(projectId, 'viewer')
    expect((await test(member.email.toUpperCase())).status).toBe(202)
    const { owner: stranger } = await aTrigger()
    for (const to of [stranger.account.user.email, 'victim@example.com']) {
      const refused = await test(to)
      expect(refused.status).toBe(422)
      expect(await refused.json()).toMatchObject({
        errors: [
          {
            field: 'to',
            rule: 'member',
            message: `must be the address of a member of the project; got "${to}"`,
          },
        ],
      })
    }
    const invalid = await test('no address')
    expect(invalid.status).toBe(422)
    expect(await invalid.json()).toMatchObject({ errors: [{ field: 'to', rule: 'email' }] })
  })
})

import { createScope, startService } from '@waymark/service-kit'
import { createMemoryLog, services } from '@waymark/testing'
import { Registry } from 'prom-client'
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { createSendVerifications } from '../src/send-verifications.ts'
import { senderRoutes } from '../src/sender-routes.ts'
import type { HandOver, OutgoingMail } from '../src/transport.ts'
import { type Harness, openHarness, recordMails } from './harness.ts'

describe.skipIf(!services)('verifying a sender', () => {
  let harness: Harness
  let base: string
  const log = createMemoryLog()
  const scope = createScope(log)
  const sent: OutgoingMail[] = []
  let outcome: HandOver

  beforeAll(async () => {
    harness = await openHarness()
    const http = { port: 0, metricsPort: 0, trustedProxies: 0 }
    const platform = { log, metrics: new Registry() }
    const { port } = await startService({ routes: senderRoutes(harness) }, http, platform, scope)
    base = `http://localhost:${port}`
  })
  beforeEach(async () => {
    sent.length = 0
    outcome = { kind: 'accepted', response: '250 OK' }
    await harness.db.prisma.emailSender.deleteMany()
  })
  afterAll(async () => {
    await scope.dispose()
    await harness?.close()
  })

  const ask = async (sender = 'shop.example', recipient = 'postmaster@shop.example') => {
    const { tenantId } = await harness.db.prisma.project.findUniqueOrThrow({
      where: { id: harness.projectId },
    })
    const data = { id: crypto.randomUUID(), tenantId, sender, recipient, mailDueAt: new Date(0) }
    return (await harness.db.prisma.emailSender.create({ data })).id
  }
  const stored = (id: string) => harness.db.prisma.emailSender.findUniqueOrThrow({ where: { id } })
  const due = (id: string) =>
    harness.db.prisma.emailSender.update({ where: { id }, data: { mailDueAt: new Date(0) } })
  const run = () =>
    createSendVerifications({
      pool: harness.db.pool,
      transport: recordMails(sent, () => outcome),
      from: 'Waymark <no-reply@waymark.example>',
      publicUrl: 'https://waymark.example',
      log,
    })(new AbortController().signal)
  const linkIn = (mail: OutgoingMail | undefined) =>
    /https:\/\/waymark\.example(\/u\/senders\/[\w-]{43})/.exec(`${mail?.raw}`.replaceAll('=\r\n', ''))?.[1] ??
    'no link'
  const statusOf = async (method: string, path: string) => (await fetch(`${base}${path}`, { method })).status

  it('accepts the emailed link once, after a confirmation', async () => {
    const id = await ask()
    await run()
    expect(sent.map(({ envelope }) => envelope)).toEqual([
      { from: 'no-reply@waymark.example', to: 'postmaster@shop.example' },
    ])
    // The requester must not control the text of an email to a stranger.
    expect(`${sent[0]?.raw}`).not.toContain('Tenant')
    const link = linkIn(sent[0])
    const page = await fetch(`${base}${link}`)
    expect(page.status).toBe(200)
    expect(await page.text()).toContain('May Tenant send emails from shop.example?')
    expect((await stored(id)).verifiedAt).toBeNull()
    expect(await statusOf('POST', link)).toBe(200)
    expect((await stored(id)).verifiedAt).toBeInstanceOf(Date)
    expect([await statusOf('POST', link), await statusOf('GET', link)]).toEqual([404, 404])
    await run()
    expect(sent).toHaveLength(1)
  })

  it('accepts only the newest link that has not expired', async () => {
    const id = await ask()
    await run()
    await due(id)
    await run()
    const [first, second] = sent.map(linkIn)
    expect(await statusOf('GET', `${first}`)).toBe(404)
    expect(await statusOf('GET', `${second}`)).toBe(200)
    await harness.db.prisma.emailSender.update({ where: { id }, data: { tokenExpiresAt: new Date() } })
    expect(await statusOf('POST', `${second}`)).toBe(404)
    expect(await statusOf('POST', `/u/senders/${'x'.repeat(43)}`)).toBe(404)
    expect((await stored(id)).verifiedAt).toBeNull()
  })

  it('retries temporary rejections five times, and reports a permanent one', async () => {
    const id = await ask()
    outcome = { kind: 'refused', permanent: false, reason: '451 later' }
    for (let attempt = 1; attempt <= 5; attempt++) {
      await due(id)
      await run()
      expect(sent).toHaveLength(attempt)
    }
    expect(await stored(id)).toMatchObject({ mailDueAt: null, mailError: '451 later' })
    const other = await ask('other.example', 'postmaster@other.example')
    outcome = { kind: 'refused', permanent: true, reason: '550 no such mailbox' }
    await run()
    expect(await stored(other)).toMatchObject({ mailDueAt: null, mailError: '550 no such mailbox' })
  })
})

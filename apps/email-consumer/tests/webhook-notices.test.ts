import { createMemoryLog, services } from '@waymark/testing'
import { v7 as uuidv7 } from 'uuid'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { createSendWebhookNotices } from '../src/send-webhook-notices.ts'
import type { HandOver, OutgoingMail } from '../src/transport.ts'
import { type Harness, openHarness, recordMails } from './harness.ts'

describe.skipIf(!services)('notices of paused webhooks', () => {
  let harness: Harness
  beforeAll(async () => {
    harness = await openHarness()
  })
  afterAll(() => harness?.close())

  const sent: OutgoingMail[] = []
  const send = (outcome: HandOver) =>
    createSendWebhookNotices({
      pool: harness.db.pool,
      transport: recordMails(sent, () => outcome),
      from: 'Shop <shop@sender.example>',
      publicUrl: 'https://waymark.example',
      log: createMemoryLog(),
    })(new AbortController().signal)

  it('are mailed once to their recipient, and again when the server refused them for now', async () => {
    const id = uuidv7()
    await harness.db.prisma.webhook.create({
      data: {
        id,
        projectId: harness.projectId,
        url: 'https://shop.example/hook',
        topics: ['event'],
        eventNames: [],
        status: 'paused',
        pausedReason: 'gone',
        secret: 'whsec_c2VjcmV0',
        noticeDueAt: new Date(0),
      },
    })
    await send({ kind: 'accepted', response: 'ok' })
    expect(sent).toEqual([])

    await harness.db.prisma.webhook.update({ where: { id }, data: { noticeRecipient: 'ann@example.com' } })
    await send({ kind: 'refused', permanent: false, reason: 'later' })
    expect(sent).toHaveLength(1)
    await harness.db.prisma.webhook.update({ where: { id }, data: { noticeDueAt: new Date(0) } })
    await send({ kind: 'accepted', response: 'ok' })
    await send({ kind: 'accepted', response: 'ok' })
    expect(sent).toHaveLength(2)
    expect(sent[1]?.envelope).toEqual({ from: 'shop@sender.example', to: 'ann@example.com' })
    expect(sent[1]?.raw.toString()).toContain('https://shop.example/hook')
    expect(await harness.db.prisma.webhook.findUnique({ where: { id } })).toMatchObject({
      noticeDueAt: null,
      noticeRecipient: null,
    })
  })

  it('say that the creator left when the webhook was not paused', async () => {
    await harness.db.prisma.webhook.create({
      data: {
        id: uuidv7(),
        projectId: harness.projectId,
        url: 'https://shop.example/kept',
        topics: ['event'],
        eventNames: [],
        status: 'active',
        activatedAt: new Date(),
        secret: 'whsec_c2VjcmV0',
        noticeDueAt: new Date(0),
        noticeRecipient: 'owner@example.com',
      },
    })
    await send({ kind: 'accepted', response: 'ok' })
    const mail = sent.at(-1)
    expect(mail?.envelope.to).toBe('owner@example.com')
    expect(mail?.raw.toString()).toContain('https://shop.example/kept')
    expect(mail?.raw.toString()).toMatch(/has left it/)
    expect(mail?.raw.toString()).not.toMatch(/was paused/)
  })
})

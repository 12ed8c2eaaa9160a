import type { AlertMessage } from '@waymark/domain/alert'
import { createMemoryLog, services } from '@waymark/testing'
import { v7 as uuidv7 } from 'uuid'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { createSendAlertNotices } from '../src/send-alert-notices.ts'
import type { HandOver, OutgoingMail } from '../src/transport.ts'
import { type Harness, openHarness, recordMails } from './harness.ts'

describe.skipIf(!services)('emails about alerts', () => {
  let harness: Harness
  beforeAll(async () => {
    harness = await openHarness()
  })
  afterAll(() => harness?.close())

  const send = async (outcome: HandOver): Promise<OutgoingMail[]> => {
    const sent: OutgoingMail[] = []
    await createSendAlertNotices({
      pool: harness.db.pool,
      transport: recordMails(sent, () => outcome),
      from: 'Shop <shop@sender.example>',
      log: createMemoryLog(),
    })(new AbortController().signal)
    return sent
  }

  it('are sent once, and again only when the mail server refused them for now; those to Slack are not', async () => {
    const { prisma } = harness.db
    const alertId = uuidv7()
    await prisma.alert.create({
      data: {
        id: alertId,
        projectId: harness.projectId,
        name: 'Few orders',
        measure: {},
        condition: {},
        interval: 'hour',
        timeZone: 'UTC',
        webhooks: true,
        dueAt: new Date(),
      },
    })
    const message: AlertMessage = {
      alertId,
      name: 'Few orders',
      project: 'Shop',
      change: 'fired',
      condition: { type: 'below', value: 5 },
      interval: 'hour',
      bucket: '2026-11-28T04:00:00.000Z',
      value: 2,
      expected: null,
      deviation: null,
      address: 'https://waymark.example/console/p/p1/alerts/a1',
    }
    await prisma.alertNotice.createMany({
      data: [
        { id: uuidv7(), alertId, channel: 'email', recipient: 'ann@example.com', message },
        { id: uuidv7(), alertId, channel: 'slack', recipient: 'https://hooks.slack.example/x', message },
      ],
    })
    expect(await send({ kind: 'refused', permanent: false, reason: 'later' })).toHaveLength(1)
    expect(await send({ kind: 'accepted', response: 'ok' })).toEqual([])
    await prisma.alertNotice.updateMany({ data: { dueAt: new Date(0) } })
    const [mail, ...others] = await send({ kind: 'accepted', response: 'ok' })
    expect(others).toEqual([])
    expect(mail?.envelope.to).toBe('ann@example.com')
    // Long lines are folded.
    const text = mail?.raw.toString().replaceAll(/=\r?\n/g, '')
    expect(text).toContain('Subject: Alert: Few orders (Shop)')
    expect(text).toContain('had 2. The alert fires when it is below 5.')
    expect(text).toContain('https://waymark.example/console/p/p1/alerts/a1')
    expect(await prisma.alertNotice.findMany()).toMatchObject([{ channel: 'slack' }])
  })
})
